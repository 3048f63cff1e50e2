"""What of a trajectory's token stream is new.

A generation hands over its whole prompt and its output; recorded are only the ids that the stream does not hold yet, behind the
number of those that stay and up to eight before them (a character may be split between segments). The stream is kept encoded, 1 to 5
bytes an id: comparing a prompt with it is one `memcmp`, where comparing lists of 10,000 ids takes 70 µs.
"""

from __future__ import annotations

from threading import RLock
from typing import NamedTuple

import msgspec

from ..arrays import IDS, LEAD, Packed, as_bytes, as_list, cut, length, tail

__all__ = ["Segment", "TokenStream"]

_encode_into = msgspec.msgpack.Encoder().encode_into
_ID = 5
"""Bytes of an id of up to 32 bits, or of an array's beginning, at most. Larger ids make the buffer grow."""
_decode = msgspec.msgpack.Decoder(list[int]).decode


class Segment(NamedTuple):
    """Ids that are new, and where they belong."""

    kept: int
    """Ids of the stream that stay before this segment."""
    lead: Packed
    ids: Packed
    encoded: bytes | None = None
    """`ids` as msgpack, where they had to be encoded anyway."""


class TokenStream:
    """The ids of one trajectory so far. Hold `lock` around `prompt` and `output` of one generation and the writing of both.

    What a generation adds is kept as it was encoded, and joined only once a prompt is to be compared with it: a copy of 40 KB costs
    little, but drives the engine's ids out of the cache from which they are read next.
    """

    __slots__ = ("_count", "_packed", "_pieces", "_tail", "lock")

    def __init__(self) -> None:
        self.lock = RLock()
        self._pieces: list[bytes | memoryview] = []
        self._count = 0
        self._packed = False
        self._tail: Packed = []

    def prompt(self, ids: Packed) -> Segment:
        """Return what a whole prompt adds; the stream is the prompt afterwards."""
        self._take_form_of(ids)
        content, begin = _content(ids)
        before, known, count = self._body(), self._count, length(ids, IDS)
        continued = content.startswith(before, begin)
        kept = known if continued else count if before.startswith(content[begin:]) else self._common(ids)
        self._pieces, self._count, self._tail = [memoryview(content)[begin:]], count, tail(ids)
        if not kept:
            return Segment(0, ids[:0], ids, content if continued and not self._packed else None)
        encoded = _header(count - kept) + content[begin + len(before) :] if continued and not self._packed else None
        return Segment(kept, cut(ids, kept - LEAD, kept), cut(ids, kept, count), encoded)

    def output(self, ids: Packed) -> Segment:
        """Return the segment of sampled ids; they join the stream."""
        self._take_form_of(ids)
        content, begin = _content(ids)
        segment = Segment(self._count, self._tail, ids, None if self._packed else content)
        self._pieces.append(memoryview(content)[begin:])
        self._count += length(ids, IDS)
        self._tail = tail(self._tail + tail(ids))  # type: ignore[operator]  # both have the form of the stream
        return segment

    def _body(self) -> bytes:
        body = b"".join(self._pieces)
        self._pieces = [body]
        return body

    def _take_form_of(self, new: Packed) -> None:
        """Bring the stream into the form of the next ids, where an engine mixes lists and arrays."""
        packed = isinstance(new, bytes)
        if packed is self._packed:
            return
        if not self._count:
            self._packed, self._tail = packed, b"" if packed else []
            return
        ids = self._ids()
        form: Packed = as_bytes(ids) if packed else ids
        content, begin = _content(form)
        self._packed, self._pieces, self._tail = packed, [content[begin:]], tail(form)

    def _ids(self) -> list[int]:
        body = self._body()
        return as_list(body) if self._packed else _decode(_header(self._count) + body)

    def _common(self, ids: Packed) -> int:
        old, new = self._ids(), as_list(ids)
        low, high = 0, min(len(old), len(new))
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if old[low:middle] == new[low:middle] else (low, middle - 1)
        return low


def _content(ids: Packed) -> tuple[bytes, int]:
    """Return ids encoded, and where in there the first one begins."""
    return (ids, 0) if isinstance(ids, bytes) else (_encode(ids), len(_header(len(ids))))


def _encode(ids: list[int]) -> bytes:
    """Return `ids` as msgpack. The encoder's own buffer grows step by step, which is a quarter of its work."""
    encoded = bytearray(_ID * (len(ids) + 1))
    _encode_into(ids, encoded)  # cuts it to what was written
    return bytes(encoded)


def _header(count: int) -> bytes:
    """Return how msgpack begins an array of `count` elements."""
    if count < 1 << 4:
        return bytes((0x90 | count,))
    return b"\xdc" + count.to_bytes(2, "big") if count < 1 << 16 else b"\xdd" + count.to_bytes(4, "big")
