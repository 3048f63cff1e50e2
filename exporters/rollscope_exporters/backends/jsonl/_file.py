"""One file that grows line by line, is rotated by size, and can be put back to an earlier moment exactly."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple


class Mark(NamedTuple):
    """A moment in the life of a `LineFile`."""

    rotations: int = 0
    size: int = 0
    """Of the newest file, bytes."""


class LineFile:
    """`<name>.jsonl`, the newest lines; `<name>.0001.jsonl`, `.0002` … the older ones, in order.

    Opened with the mark of a checkpoint, it drops every line written after it; with the first mark it starts empty. It
    keeps nothing open: a bridge that has seen a thousand runs holds no thousand files.
    """

    def __init__(self, folder: Path, name: str, rotate_bytes: int, mark: Mark) -> None:
        self._folder, self._name, self._rotate_bytes = folder, name, rotate_bytes
        self._active = folder / f"{name}.jsonl"
        self.mark = mark
        self.restore(mark)

    def append(self, lines: list[bytes]) -> None:
        """Append whole lines. Raises `OSError`; `restore` then undoes what was half done."""
        data = b"".join(lines)
        if self.mark.size and self.mark.size + len(data) > self._rotate_bytes:
            self._rotate()
        self._folder.mkdir(parents=True, exist_ok=True)
        with self._opened() as file:
            view = memoryview(data)
            while view:
                view = view[os.write(file, view) :]
        self.mark = Mark(self.mark.rotations, self.mark.size + len(data))

    def sync(self) -> None:
        """Make the newest file durable; older ones were when they were rotated."""
        with self._opened() as file:
            os.fsync(file)

    def restore(self, mark: Mark) -> None:
        """Make the file that was the newest at `mark` the newest again and cut it; what was written since goes."""
        number = mark.rotations + 1
        if self._rotated(number).exists():
            self._rotated(number).replace(self._active)
            while self._rotated(number := number + 1).exists():
                self._rotated(number).unlink()
        if self._active.exists() and self._active.stat().st_size > mark.size:
            os.truncate(self._active, mark.size)
        self.mark = mark

    def _rotated(self, number: int) -> Path:
        return self._folder / f"{self._name}.{number:04d}.jsonl"

    def _rotate(self) -> None:
        self.sync()
        number = self.mark.rotations + 1
        self._active.rename(self._rotated(number))
        self.mark = Mark(number, 0)

    @contextmanager
    def _opened(self) -> Iterator[int]:
        file = os.open(self._active, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        try:
            yield file
        finally:
            os.close(file)
