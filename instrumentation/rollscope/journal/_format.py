"""The bytes of a segment, shared by writer and reader. Little-endian; every record starts at a multiple of 8 bytes.

```
header   magic 8s · version u16 · lane u16 · number u32 · capacity u64 · size of meta u32 · crc32 u32 · meta, padded to 8
record   length u32 · check u32 · sequence u64 · payload, padded to 8
end      0xFFFFFFFF u32 · check u32
```

Length and check are one aligned 8-byte store, made last: what a reader sees is either 0 (the end for now) or a whole record.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Mapping
from typing import Final, NamedTuple
from zlib import crc32

import msgspec

from ..checksum import checksum
from ._errors import JournalError

MAGIC: Final = b"RSCOPE\x00J"
VERSION: Final = 2
LANES: Final = 3
"""Priorities of a log, each with segments of its own: 0 run records, 1 spans, 2 tokens."""
PAGE: Final = 4096
HEADER: Final = struct.Struct("<8sHHIQI")
HEADER_SIZE: Final = HEADER.size + 4
RECORD: Final = struct.Struct("<IIQ")
RECORD_SIZE: Final = RECORD.size
END_LENGTH: Final = 0xFFFFFFFF
MAX_RECORD: Final = 128 << 20
FOLD: Final = 4294967291
"""Largest prime below 2³²: every single flipped bit of a 64-bit sequence changes its remainder, unlike a plain cut to 32 bits."""


class Position(NamedTuple):
    """A place in one lane: every record before it has been read."""

    number: int
    """Of the segment."""
    offset: int
    """Bytes into it; 0 is its beginning."""
    aside: int = 0
    """Number of the last single-record file read."""


class Header(NamedTuple):
    """What a segment says of itself."""

    lane: int
    number: int
    capacity: int
    meta: bytes
    first: int
    """Offset of the first record."""


def require_little_endian() -> None:
    """Raise on a machine whose native stores would not match the format."""
    if sys.byteorder != "little":
        raise JournalError(f"the journal's format is little-endian and this machine is {sys.byteorder}-endian: switch rollscope off here")


def aligned(size: int) -> int:
    """Round up to a multiple of 8."""
    return size + 7 & -8


def record_check(payload: bytes | memoryview, sequence: int) -> int:
    """Checksum over payload and sequence; the payload's part can be computed before the sequence is known."""
    return checksum(payload) ^ sequence % FOLD


def end_word(offset: int) -> int:
    """Return the 8 bytes that close a finished segment at `offset`."""
    return crc32(offset.to_bytes(8, "little")) << 32 | END_LENGTH


def pack_header(lane: int, number: int, capacity: int, meta: bytes) -> bytes:
    """Return the header and meta, padded so that the first record is aligned."""
    fixed = HEADER.pack(MAGIC, VERSION, lane, number, capacity, len(meta))
    whole = fixed + crc32(meta, crc32(fixed)).to_bytes(4, "little") + meta
    return whole.ljust(aligned(len(whole)), b"\0")


def unpack_header(data: bytes) -> Header | None:
    """Read a segment's beginning; None when it is cut short, foreign or damaged."""
    if len(data) < HEADER_SIZE:
        return None
    magic, version, lane, number, capacity, meta_size = HEADER.unpack_from(data)
    meta = data[HEADER_SIZE : HEADER_SIZE + meta_size]
    check = int.from_bytes(data[HEADER.size : HEADER_SIZE], "little")
    if magic != MAGIC or version != VERSION or len(meta) != meta_size or crc32(meta, crc32(data[: HEADER.size])) != check:
        return None
    return Header(lane, number, capacity, meta, aligned(HEADER_SIZE + meta_size))


def read_header(fd: int) -> Header | None:
    """Read the header of an open segment; None when it is damaged."""
    data = os.pread(fd, 1 << 14, 0)
    return unpack_header(data) or (unpack_header(os.pread(fd, 1 << 24, 0)) if len(data) == 1 << 14 else None)


def encode_meta(meta: Mapping[str, object]) -> bytes:
    """Encode `meta`; raises `JournalError` when it holds something msgpack cannot take."""
    try:
        return msgspec.msgpack.encode(dict(meta))
    except (TypeError, ValueError, OverflowError) as error:
        raise JournalError(f"meta of a journal must be plain data: {error}") from error


def segment_name(lane: int, number: int) -> str:
    """File name of a segment."""
    return f"p{lane}-{number:08d}.seg"


def aside_name(lane: int, number: int) -> str:
    """File name of a record written by an interrupter, see `_aside`."""
    return f"s{lane}-{number:08d}.seg"


def parse_name(name: str) -> tuple[str, int, int] | None:
    """Split a file name into kind (`p` or `s`), lane and number; None for any other file."""
    kind, dash = name[:1], name[2:3]
    if kind not in ("p", "s") or dash != "-" or not name.endswith(".seg") or not name[1:2].isdigit() or not name[3:-4].isdigit():
        return None
    return kind, int(name[1]), int(name[3:-4])
