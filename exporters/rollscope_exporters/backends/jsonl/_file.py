"""One file that grows line by line, is rotated by size, and can be put back to an earlier moment exactly."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

log = logging.getLogger("rollscope.jsonl")

_CHANGED = "something else has changed it. It goes on at its end; lines may be missing or stand there twice"


class Mark(NamedTuple):
    """A moment in the life of a `LineFile`."""

    rotations: int = 0
    size: int = 0
    """Of the newest file, bytes."""


class LineFile:
    """`<name>.jsonl`, the newest lines; `<name>.0001.jsonl`, `.0002` … the older ones, in order.

    Opened with the mark of a checkpoint, it drops every line written after it; with the first mark it starts empty. It
    keeps nothing open: a bridge that has seen a thousand runs holds no thousand files.

    When somebody else has cut, lengthened or removed the newest file, it says so and goes on at what is there now, on a
    line of its own.
    """

    def __init__(self, folder: Path, name: str, rotate_bytes: int, mark: Mark) -> None:
        self._folder, self._name, self._rotate_bytes = folder, name, rotate_bytes
        self._active = folder / f"{name}.jsonl"
        self.mark = mark
        self.restore(mark)

    def append(self, lines: list[bytes]) -> Mark:
        """Append whole lines and return the moment before them. Raises `OSError`, with what was half done undone."""
        before = self.mark = self._seen()
        data = b"".join(lines)
        try:
            if before.size and before.size + len(data) > self._rotate_bytes:
                self._rotate()
            self._write(data)
        except OSError:
            self.restore(before)
            raise
        return before

    def sync(self) -> None:
        """Make the newest file durable; older ones were when they were rotated."""
        self.mark = self._seen()
        if self.mark.size:
            self._fsync()

    def restore(self, mark: Mark) -> None:
        """Make the file that was the newest at `mark` the newest again and cut it; what was written since goes.

        A file in which `mark` lies within a line is not the one that was marked, and is left whole.
        """
        number = mark.rotations + 1
        if self._rotated(number).exists():
            self._rotated(number).replace(self._active)
            while self._rotated(number := number + 1).exists():
                self._rotated(number).unlink()
        if self._size() > mark.size and self._ends_line(mark.size):
            os.truncate(self._active, mark.size)
        self.mark = mark

    def _seen(self) -> Mark:
        """Return the mark as the file is now."""
        size, believed = self._size(), self.mark.size
        if size != believed:
            log.warning("%s was left with %d bytes and has %d: %s", self._active, believed, size, _CHANGED)
        return Mark(self.mark.rotations, size)

    def _size(self) -> int:
        try:
            return self._active.stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return 0

    def _ends_line(self, size: int) -> bool:
        """Say whether a line ends with the first `size` bytes, its newline counted or not."""
        if not size:
            return True
        with open(self._active, "rb") as file:
            file.seek(size - 1)
            return b"\n" in file.read(2)

    def _write(self, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        size = self.mark.size
        with self._opened() as file:
            if size and os.pread(file, 1, size - 1) != b"\n":
                data = b"\n" + data
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
        self.mark = Mark(self.mark.rotations, size + len(data))

    def _rotated(self, number: int) -> Path:
        return self._folder / f"{self._name}.{number:04d}.jsonl"

    def _rotate(self) -> None:
        self._fsync()
        number = self.mark.rotations + 1
        self._active.rename(self._rotated(number))
        self.mark = Mark(number, 0)

    def _fsync(self) -> None:
        with self._opened() as file:
            os.fsync(file)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self._active, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            yield file
        finally:
            os.close(file)
