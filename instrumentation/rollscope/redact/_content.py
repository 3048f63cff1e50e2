"""Content of files that travels in pieces."""

from __future__ import annotations

import codecs
from typing import Any

from .. import vocabulary as v
from ..content import content_digest
from ._redactor import Redactor

_PARTIAL = "content not sent: redaction looks at whole texts, and this one travels in {} pieces"


def content(redactor: Redactor, attributes: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of an `rl.artifact` event with the text of its content redacted, and its digest and size made to fit.

    What is no UTF-8 is left as it is. Of a text in several pieces, none can be looked at by itself: its content is left out.
    """
    found = attributes.get(v.ARTIFACT_CONTENT)
    if not isinstance(found, bytes) or not redactor.looks_at_text():
        return attributes
    pieces = attributes.get(v.ARTIFACT_CHUNK_COUNT)
    if isinstance(pieces, int) and pieces > 1:
        return {**attributes, v.ARTIFACT_CONTENT: b"", v.ARTIFACT_URI: _PARTIAL.format(pieces)} if _is_text(found) else attributes
    clean = plain(redactor, str(attributes.get(v.ARTIFACT_NAME, "")), found)
    if clean == found:
        return attributes
    return {**attributes, v.ARTIFACT_CONTENT: clean, v.ARTIFACT_SIZE: len(clean), v.ARTIFACT_DIGEST: content_digest(clean)}


def plain(redactor: Redactor, name: str, found: bytes) -> bytes:
    """Return a whole file's content redacted; as it is where it is no UTF-8."""
    try:
        text = found.decode()
    except UnicodeDecodeError:
        return found
    clean = redactor.text(name, text)
    return found if clean == text else clean.encode()


def _is_text(piece: bytes) -> bool:
    """Return whether a piece can be from the midst of a text: its first and last character may be cut."""
    start = next((at for at, byte in enumerate(piece[:4]) if byte & 0xC0 != 0x80), 0)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(piece[start:])
    except UnicodeDecodeError:
        return False
    return b"\0" not in piece
