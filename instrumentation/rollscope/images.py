"""Images, each kept once: its content travels with the first record that needs it, later ones name its digest.

An image in a message (`data:image/png;base64,…`) is moved out before the message is recorded; what stays is

    rollscope-image:sha256:<64 hex digits>;image/png

from which, with the content, the message can be rebuilt letter by letter. Content travels with the last priority, in pieces.
"""

from __future__ import annotations

import os
import threading
from binascii import a2b_base64, b2a_base64
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

from . import vocabulary as v
from .content import content_digest, pieces
from .recorder import Recorder, report
from .records import PRIORITY_SPAN, PRIORITY_TOKENS

__all__ = ["SCHEME", "move_out", "record_image"]

SCHEME = "rollscope-image:"

_OPENING = b'"data:image/'
_MARK = b";base64,"
_REMEMBERED = 20_000


class _Sent:
    """Digests that a producer has sent, the latest 20,000; a forked child, like a new run, begins with none."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._whose: object = None
        self._digests: OrderedDict[str, None] = OrderedDict()

    def has(self, recorder: Recorder, digest: str) -> bool:
        with self._lock:
            # The identity object is made anew with each recorder, and again in a forked child.
            if recorder.identity is not self._whose:
                self._whose = recorder.identity
                self._digests.clear()
            return digest in self._digests

    def add(self, recorder: Recorder, digest: str) -> None:
        with self._lock:
            if recorder.identity is self._whose:
                self._digests[digest] = None
                while len(self._digests) > _REMEMBERED:
                    self._digests.popitem(last=False)


_sent = _Sent()


def record_image(
    recorder: Recorder,
    content: bytes,
    media_type: str,
    attributes: Mapping[str, Any],
    *,
    digest: str = "",
    trace_id: bytes | None = None,
    span_id: bytes | None = None,
    time: int | None = None,
) -> None:
    """Record an image: with its content the first time this producer has it, by digest afterwards. `attributes` say whose it is."""
    when = recorder.now() if time is None else time
    name = digest or content_digest(content)
    known = {**attributes, v.IMAGE_TYPE: media_type, v.IMAGE_DIGEST: name, v.IMAGE_SIZE: len(content)}

    def write(more: Mapping[str, Any], lane: int = PRIORITY_TOKENS, body: str | None = None) -> int:
        return recorder.event(
            v.EVENT_IMAGE, {**known, **more}, priority=lane, trace_id=trace_id, span_id=span_id, time=when, body=body
        )  # fmt: skip

    limit = recorder.limits.image_bytes
    if len(content) > limit:
        report("truncated", "big_image", f"an image has {len(content)} bytes, up to {limit} travel")
        write({v.IMAGE_CHUNK_COUNT: 0}, PRIORITY_SPAN, f"content not sent: {len(content)} bytes, more than the {limit} that travel")
        return
    if _sent.has(recorder, name):
        # Behind its content in the same queue, so that a trace that waits for this record has the content when it goes out.
        write({v.IMAGE_CHUNK_COUNT: 0})
        return
    parts = list(pieces(content))
    numbers = [write(_piece(place, len(parts), part)) for place, part in enumerate(parts)]
    if min(numbers) > 0:
        _sent.add(recorder, name)


def move_out(recorder: Recorder, message: bytes, trace_id: bytes | None = None, span_id: bytes | None = None) -> bytes:
    """Return an encoded message with the data of its images moved into records of their own."""
    start = _find_image(message, 0)
    if start < 0:
        return message
    parts: list[bytes] = []
    done = 0
    while start >= 0:
        end = message.find(b'"', start + 1)
        if end < 0:
            break
        reference = _keep(recorder, message[start + 1 : end], trace_id, span_id)
        if reference:
            parts += [message[done : start + 1], reference]
            done = end
        start = _find_image(message, end)
    return b"".join([*parts, message[done:]])


def _find_image(message: bytes, start: int) -> int:
    """Return where the next image begins, -1 without one. One byte is found thirty times as fast as twelve, and this one is rare."""
    return message.find(_OPENING, start) if message.find(_MARK[:1], start) >= 0 else -1


def _keep(recorder: Recorder, uri: bytes, trace_id: bytes | None, span_id: bytes | None) -> bytes:
    """Record the image of a `data:` URI; its reference, empty when the URI cannot be rebuilt from it."""
    head, mark, data = uri.partition(_MARK)
    media_type = head.removeprefix(b"data:")
    if not mark or not media_type.isascii() or b";" in media_type or b"\\" in media_type:
        return b""
    try:
        content = a2b_base64(data)
    except ValueError:
        return b""
    if b2a_base64(content, newline=False) != data:
        return b""
    digest, kind = content_digest(content), media_type.decode()
    record_image(recorder, content, kind, {}, digest=digest, trace_id=trace_id, span_id=span_id)
    note = f";too-large={len(content)}" if len(content) > recorder.limits.image_bytes else ""
    return f"{SCHEME}{digest};{kind}{note}".encode()


def _piece(place: int, count: int, content: bytes) -> dict[str, Any]:
    return {v.IMAGE_CHUNK_INDEX: place, v.IMAGE_CHUNK_COUNT: count, v.IMAGE_CONTENT: content}


def _after_fork() -> None:
    # Whoever held the lock is not in the child.
    _sent.__init__()  # type: ignore[misc]


os.register_at_fork(after_in_child=_after_fork)
