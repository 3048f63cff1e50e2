"""One mapped file that the writer fills."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import Final

from ..descriptors import file_of, open_above, opened
from ..interruption import pass_on
from ._format import PAGE, RECORD_SIZE, aligned, end_word, pack_header, segment_name
from ._mapping import map_file

_FIRST_STEP: Final = (128 << 10) >> 3
"""Words that are filled at once, at first."""
_LARGEST_STEP: Final = (1 << 20) >> 3
"""The same at most: one append in a mebibyte then takes a quarter of a millisecond, where one in 128 KiB took a twentieth."""
_WORTH_CUTTING: Final = 4
"""A finished segment of which less than a 2⁴th is unused is not cut."""
_ZEROS: Final = memoryview(bytes(4 * PAGE))
"""Written many times over rather than once as a long one: it stays in the processor's nearest cache."""


class Segment:
    """A preallocated, mapped segment. Places are counted in words of 8 bytes.

    `room` is what an append compares with. It runs ahead of `at`: touching a page of the map for the first time costs 6 µs, letting the
    kernel fill many costs 0.7 to 1 µs each, and 15 to 30 µs to open the file. Steps double, from 128 KiB to 1 MiB, so that a process that
    records little has little filled. The file is opened for whatever the map cannot do, and not kept open.
    """

    __slots__ = ("at", "bytes", "capacity", "file", "full", "number", "path", "records", "room", "step", "synced", "words")

    def __init__(self, path: Path, number: int, capacity: int, fd: int, first: int) -> None:
        self.path = path
        self.number = number
        self.capacity = capacity
        self.file = file_of(fd)
        self.bytes = map_file(fd, capacity)
        self.words = memoryview(self.bytes).cast("Q")
        self.at = first >> 3
        self.full = (capacity >> 3) - 1  # one word stays for the end mark
        self.room = self.at
        self.step = _FIRST_STEP
        self.records = 0
        self.synced = 0

    @classmethod
    def create(cls, folder: Path, lane: int, number: int, capacity: int, meta: bytes) -> Segment:
        """Make a file with all its space allocated; raises `OSError` and leaves nothing behind when there is no room."""
        path = folder / segment_name(lane, number)
        header = pack_header(lane, number, capacity, meta)
        fd = open_above(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        try:
            # A hole in a mapped file is a SIGBUS on a full disk.
            os.posix_fallocate(fd, 0, capacity)
            os.pwrite(fd, header, 0)
            return cls(path, number, capacity, fd, len(header))
        except BaseException:
            with contextlib.suppress(OSError):
                path.unlink()
            raise
        finally:
            os.close(fd)

    def open_up(self, end: int) -> None:
        """Raise `room` to `end` at least, which lies within the segment."""
        room = min(-(-end // self.step) * self.step, self.full)
        self.step = min(self.step * 2, _LARGEST_STEP)
        # The space is there even so.
        try:
            with opened(self.path, os.O_RDWR, self.file) as fd:
                for start in range(self.room, room, _LARGEST_STEP):
                    size = min(room - start, _LARGEST_STEP) << 3
                    os.pwritev(fd, [_ZEROS[: size % len(_ZEROS)], *[_ZEROS] * (size // len(_ZEROS))], start << 3)
        except OSError as error:
            pass_on(error)
        self.room = room

    def seal(self) -> None:
        """Write the end mark; nothing may be appended afterwards."""
        self.words[self.at] = end_word(self.at << 3)
        self.room = self.full = -1

    def shrink(self) -> int:
        """Cut the file behind the end mark and return its size.

        It stays as it was made where little is left unused, as cutting a file makes ext4 wait for the disk, for milliseconds, where the
        file system refuses, and where a reader has deleted it.
        """
        size = (self.at + 1) << 3
        if self.capacity - size <= self.capacity >> _WORTH_CUTTING:
            return self.capacity
        try:
            with opened(self.path, os.O_RDWR, self.file) as fd:
                os.ftruncate(fd, size)
        except OSError:
            return self.capacity
        return size

    def sync(self) -> None:
        """Return when what was appended is on disk. Raises `OSError`."""
        with contextlib.ExitStack() as stack:
            try:
                fd = stack.enter_context(opened(self.path, os.O_RDONLY, self.file))
            except OSError:  # deleted by its reader; or there is no descriptor left for it
                return self.bytes.flush()
            return os.fdatasync(fd)

    def release(self) -> None:
        """Let go of the map, without writing."""
        self.room = self.full = -1
        self.words.release()
        self.bytes.close()


def capacity_for(size: int, usual: int, overhead: int) -> int:
    """Return bytes a segment needs so that a record of `size` fits: whole pages, and at least the usual capacity."""
    need = max(usual, overhead + RECORD_SIZE + aligned(size) + 8)
    return -(-need // PAGE) * PAGE
