"""Records of what began and is not over: each in a place of its own, which the next one takes when it is over.

```
header   that of a segment, with the bytes of a place for its capacity
place    length u32 · check u32 · end u64 · record
```

Length and check are one store, made last; a place of length 0 is free. `end` is 0 while it goes on. The append that says that it is over
writes three times its number there just before its own record is whole, and frees the place just after: of a writer that died in
between, it tells whether that record came to be. Three times, because no flipped bit makes a multiple of three of another one.
"""

from __future__ import annotations

import contextlib
import itertools
import mmap
import os
import struct
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from ..checksum import checksum
from ..descriptors import open_above
from ..interruption import pass_on
from ._counters import Kind
from ._errors import BYTE_LIMIT, cause
from ._format import PAGE, pack_header, unpack_header
from ._lane import RETRY_AFTER
from ._mapping import map_file
from ._scan import is_zero
from ._space import Space

_HEADER_LANE: Final = 0xFFFF
_PLACE: Final = struct.Struct("<IIQ")
END_FACTOR: Final = 3
_SIZES: Final = ((1 << 10, 63), (16 << 10, 16), (256 << 10, 4), (2 << 20, 1))
"""Bytes of a place and places of a file, smallest first; there are as many files of each as are needed."""
_SMALL: Final = _SIZES[0][0] - _PLACE.size
_SHARE_OF: Final = 1
"""The lane whose share of the byte limit they count to."""
_MOST: Final = 64 << 20
"""Bytes of a log's places, so that what is begun over and over and never ended takes no more."""

Place: TypeAlias = "tuple[memoryview, int, list[Place], mmap.mmap, int]"
"""The words of its file and its own first one; the list of free places it returns to; the bytes of its file and its record's first one."""


class Held:
    """The writer's side. Needs no lock: a place is on the list of free ones or in the hands of one caller."""

    def __init__(self, folder: Path, meta: bytes, space: Space, count: Callable[[Kind, str], None]) -> None:
        self._folder = folder
        self._meta = meta
        self._space = space
        self._count = count
        # Behind the sizes there are, one that has no place ever.
        self._free: tuple[list[Place], ...] = tuple([] for _ in range(len(_SIZES) + 1))
        self._small = self._free[0]
        self._maps: list[tuple[memoryview, mmap.mmap]] = []
        self._bytes = 0
        self._numbers = itertools.count(1 + max(map(_number, held_files(folder)), default=0))
        self._closed = False
        self._refused_until = 0.0
        self._refused_why = ""

    def put(self, payload: bytes, check: int) -> Place | None:
        """Keep `payload` until an append is told that it is over; None when it was refused and counted. Never raises of itself.

        check: `checksum(payload)`.
        """
        size = len(payload)
        try:
            place = self._small.pop() if size <= _SMALL else self._free[_kind(size)].pop()
        except IndexError:
            if (made := self._more(_kind(size))) is None:
                return None
            place = made
        try:
            words, at, _, data, start = place
            data[start : start + size] = payload
            words[at + 1] = 0
            words[at] = check << 32 | size
        except ValueError:  # closed meanwhile
            return None
        return place

    def close(self) -> None:
        """Let go of the files and leave in them what is not over."""
        self._closed = True
        for places in self._free:
            places.clear()
        while self._maps:
            words, data = self._maps.pop()
            words.release()
            data.close()

    def _more(self, kind: int) -> Place | None:
        made = self._make(kind)
        if isinstance(made, tuple):
            return made
        if not self._closed:
            # What it began is still recorded when it ends, so nothing was dropped yet.
            self._count("truncated", f"refused beginnings: {made}")
        return None

    def _make(self, kind: int) -> Place | str:
        """Make a file and return one of its places, or say why not."""
        if kind == len(_SIZES):
            return "record too large"
        if self._closed or time.monotonic() < self._refused_until:
            return self._refused_why
        each, count = _SIZES[kind]
        number = next(self._numbers)
        header = pack_header(_HEADER_LANE, number, each, self._meta)
        capacity = -(-(len(header) + each * count) // PAGE) * PAGE
        if self._bytes + capacity > _MOST:
            return "too many at once"
        try:
            with self._space.being_made(_SHARE_OF, capacity) as there_is_room:
                if not there_is_room:
                    return self._refuse(BYTE_LIMIT)
                data = _create(self._folder / f"o{number:08d}.held", header, capacity)
        except OSError as error:
            pass_on(error)
            return self._refuse(cause(error))
        words, free, first = memoryview(data).cast("Q"), self._free[kind], len(header)
        self._maps.append((words, data))
        self._bytes += capacity
        place, *others = [(words, at >> 3, free, data, at + _PLACE.size) for at in range(first, first + each * count, each)]
        free.extend(others)
        return place

    def _refuse(self, why: str) -> str:
        """Remember for a while that there is no space, and why."""
        self._refused_until, self._refused_why = time.monotonic() + RETRY_AFTER, why
        return why


def release(place: Place) -> None:
    """Free a place whose record is over, or will never be said to be."""
    words, at, free, _, _ = place
    with contextlib.suppress(ValueError):  # closed
        words[at] = 0
        free.append(place)


class Open(NamedTuple):
    """What a file of places holds."""

    records: list[tuple[bytes, int]]
    """Each record, with the number of the one that says that it is over: 0 unless its writer was interrupted while writing that one."""
    damaged: int
    """Places that hold something else. While their writer lives, they may be just changing."""


def read_held(path: Path) -> Open:
    """Read a file of places."""
    try:
        data = path.read_bytes()
    except OSError:
        return Open([], 0)
    header = unpack_header(data)
    if header is None or header.lane != _HEADER_LANE or header.capacity < _PLACE.size:
        return Open([], 0 if is_zero(data) else 1)  # all zero: killed while making it
    each = header.capacity
    found, damaged = [], int(len(data) % PAGE != 0)  # cut short: nobody can say what stood there
    for start in range(header.first, len(data) - each + 1, each):
        length, check, end = _PLACE.unpack_from(data, start)
        if not length:
            continue
        record = data[start + _PLACE.size : start + _PLACE.size + length]
        if length > each - _PLACE.size or checksum(record) != check or end % END_FACTOR:
            damaged += 1
        else:
            found.append((record, end // END_FACTOR))
    return Open(found, damaged)


def held_files(folder: Path) -> list[Path]:
    """Return the files of places in a log folder, in the order in which they were made."""
    return sorted(path for path in folder.glob("o*.held") if path.stem[1:].isdecimal())


def _kind(size: int) -> int:
    return next((kind for kind, (most, _) in enumerate(_SIZES) if size <= most - _PLACE.size), len(_SIZES))


def _number(path: Path) -> int:
    return int(path.stem[1:])


def _create(path: Path, header: bytes, capacity: int) -> mmap.mmap:
    fd = open_above(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        # Written rather than left to the first touch, which costs four times as much; and a hole would be a SIGBUS on a full disk.
        os.posix_fallocate(fd, 0, capacity)
        os.pwrite(fd, bytes(capacity), 0)
        os.pwrite(fd, header, 0)
        return map_file(fd, capacity)
    except BaseException:
        with contextlib.suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)
