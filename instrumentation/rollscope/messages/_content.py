"""One piece of content: OpenAI content part ↔ GenAI part (semantic conventions 1.41).

Both directions are pure. `to_part` proves that `to_content` gives back what it was handed; what does not fit the GenAI
shapes travels whole in a part of type `openai`.
"""

from __future__ import annotations

import re

from ._equal import same

WHOLE = "openai"
"""Type and key of a part that carries an OpenAI content part as it stood."""

_DATA_URI = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,([A-Za-z0-9+/=_-]*)")
_AUDIO = "audio/"
_MESSAGE_LEVEL = frozenset({WHOLE, "reasoning", "tool_call", "tool_call_response"})
"""Part types that mean more than content; content of such a type must not be taken for them."""


def to_part(content: object) -> dict[str, object]:
    """Return the GenAI part for one OpenAI content part."""
    part = _known_part(content)
    return part if part is not None and same(to_content(part), content) else {"type": WHOLE, WHOLE: content}


def to_content(part: dict[str, object]) -> object:
    """Return the OpenAI content part for one GenAI part; a type OpenAI does not know stays as it is."""
    kind = part.get("type")
    if kind == WHOLE and WHOLE in part:
        return part[WHOLE]
    if kind == "text":
        return {**_rest(part, "content"), "text": part.get("content", "")}
    if kind == "uri" and part.get("modality") == "image":
        return _image(part, part.get("uri"), _rest(part, "type", "uri", "modality", "mime_type"))
    if kind == "blob":
        return _from_blob(part)
    if kind == "file" and "file_id" in part:
        return {"type": "file", "file": _rest(part, "type", "modality", "mime_type")}
    return dict(part)


def _known_part(content: object) -> dict[str, object] | None:
    if not isinstance(content, dict):
        return None
    kind = content.get("type")
    if kind == "text" and isinstance(content.get("text"), str):
        return {**_rest(content, "text"), "content": content["text"]}
    if kind == "image_url" and isinstance(image := content.get("image_url"), dict):
        return _from_image(image)
    if kind == "input_audio" and isinstance(audio := content.get("input_audio"), dict):
        mime = f"{_AUDIO}{audio.get('format')}"
        return {"type": "blob", "modality": "audio", "mime_type": mime, "content": audio.get("data")}
    if kind == "file" and isinstance(file := content.get("file"), dict) and "file_id" in file:
        return {**file, "type": "file", "modality": "document"}
    return dict(content) if isinstance(kind, str) and kind not in _MESSAGE_LEVEL else None


def _from_image(image: dict[str, object]) -> dict[str, object] | None:
    url = image.get("url")
    if not isinstance(url, str):
        return None
    extra = _rest(image, "url")
    if data := _DATA_URI.fullmatch(url):
        return {"type": "blob", "modality": "image", "mime_type": data[1], "content": data[2], **extra}
    return {"type": "uri", "modality": "image", "uri": url, **extra}


def _from_blob(part: dict[str, object]) -> object:
    mime, content = part.get("mime_type"), part.get("content")
    if part.get("modality") == "audio" and isinstance(mime, str):
        return {"type": "input_audio", "input_audio": {"data": content, "format": mime.removeprefix(_AUDIO)}}
    if part.get("modality") == "image":
        url = f"data:{mime or 'application/octet-stream'};base64,{content}"
        return _image(part, url, _rest(part, "type", "content", "modality", "mime_type"))
    return dict(part)


def _image(part: dict[str, object], url: object, extra: dict[str, object]) -> dict[str, object]:
    return {"type": "image_url", "image_url": {"url": url, **extra}}


def _rest(mapping: dict[str, object], *without: str) -> dict[str, object]:
    return {key: value for key, value in mapping.items() if key not in without}
