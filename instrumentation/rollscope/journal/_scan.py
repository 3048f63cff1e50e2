"""Find records in bytes, whatever happened to the bytes: pure functions that writer and reader share."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from ..checksum import checksum
from ._format import END_LENGTH, FOLD, MAX_RECORD, RECORD, RECORD_SIZE, aligned, end_word, record_check

Stop = Literal["zero", "end", "short", "damaged", "budget"]
PLAUSIBLE_LEAP: Final = 1 << 32


class Found(NamedTuple):
    """What `records` saw: whole records as (sequence, payload, offset behind it), where it stopped and why."""

    records: list[tuple[int, bytes, int]]
    offset: int
    stop: Stop
    need: int
    """Bytes the record at `offset` takes, when it was cut off (`short`)."""


def records(data: bytes, base: int, max_bytes: int) -> Found:
    """Read records from `data`, which begins at offset `base` of its segment, until `max_bytes` of payload are found."""
    found: list[tuple[int, bytes, int]] = []
    at, size, taken = 0, len(data), 0
    unpack = RECORD.unpack_from
    while True:
        if size - at < RECORD_SIZE:
            return _cut_short(found, data, at, base)
        length, check, sequence = unpack(data, at)
        if length == 0:
            return Found(found, base + at, "zero", 0)
        if length > MAX_RECORD:
            return Found(found, base + at, "end" if _is_end(data, at, base) else "damaged", 0)
        begin = at + RECORD_SIZE
        if begin + length > size:
            return Found(found, base + at, "short", RECORD_SIZE + length)
        payload = data[begin : begin + length]
        if checksum(payload) ^ sequence % FOLD != check:
            return Found(found, base + at, "damaged", 0)
        if found and taken + length > max_bytes:
            return Found(found, base + at, "budget", 0)
        at = begin + (length + 7 & -8)
        taken += length
        found.append((sequence, payload, base + at))


def _cut_short(found: list[tuple[int, bytes, int]], data: bytes, at: int, base: int) -> Found:
    word = data[at : at + 8]
    if len(word) < 8:
        return Found(found, base + at, "short", 8)
    if not any(word[:4]):
        return Found(found, base + at, "zero", 0)
    return Found(found, base + at, "end" if _is_end(data, at, base) else "short", RECORD_SIZE)


def is_zero(data: bytes) -> bool:
    """Return whether nothing was ever written there."""
    return data.count(0) == len(data)


def _is_end(data: bytes, at: int, base: int) -> bool:
    return int.from_bytes(data[at : at + 8], "little") == end_word(base + at)


def next_record(data: bytes, base: int, last_sequence: int) -> int | None:
    """Find the first offset from `base` on where a whole record or the end mark lies; None when there is none.

    Only a length that fits and a sequence that may follow `last_sequence` are tried, so that random bytes cost no checksum.
    """
    view = memoryview(data)[: len(data) & -8]
    for at, length in zip(range(0, len(view), 8), view.cast("I")[::2].tolist(), strict=True):
        if length and (_record_at(data, at, length, last_sequence) or (length == END_LENGTH and _is_end(data, at, base))):
            return base + at
    return None


def _record_at(data: bytes, at: int, length: int, last_sequence: int) -> bool:
    begin = at + RECORD_SIZE
    if begin + length > len(data):
        return False
    check: int
    sequence: int
    _, check, sequence = RECORD.unpack_from(data, at)
    if not last_sequence < sequence <= last_sequence + PLAUSIBLE_LEAP:
        return False
    return record_check(memoryview(data)[begin : begin + length], sequence) == check


def walk(data: bytes, base: int) -> int:
    """Follow the lengths, without checking, to the offset where the data end for now."""
    at, size = 0, len(data)
    while at + 8 <= size:
        length = int.from_bytes(data[at : at + 4], "little")
        if length == 0 or length > MAX_RECORD:
            break
        at += RECORD_SIZE + aligned(length)
    return base + at
