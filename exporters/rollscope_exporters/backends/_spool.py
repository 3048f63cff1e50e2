"""Rows that wait for their table: a file of JSON lines for each, cut back to the last checkpoint after a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

_encode, _decode = msgspec.json.Encoder().encode, msgspec.json.Decoder(dict[str, object]).decode


class Mark(NamedTuple):
    """How much of which file counts."""

    number: int
    size: int


class Spool:
    """Waiting rows of one run by key; `marks` is what the last checkpoint returned."""

    def __init__(self, folder: Path, marks: Mapping[str, tuple[int, int]]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._older: set[int] = set()
        self.marks: dict[str, Mark] = {}
        self.restore({key: Mark(*mark) for key, mark in marks.items()})
        self._older = {mark.number for mark in self.marks.values()}

    def restore(self, marks: Mapping[str, Mark]) -> None:
        """Return to `marks`: what was appended since is cut off, what was dropped since comes back."""
        self.marks = dict(marks)
        sizes = {mark.number: mark.size for mark in marks.values()}
        for number, path in self._files():
            if number not in sizes:
                if number not in self._older:
                    path.unlink()
            elif path.stat().st_size > sizes[number]:
                os.truncate(path, sizes[number])

    def append(self, key: str, row: Mapping[str, object]) -> None:
        """Add one row to those of `key`."""
        mark = self.marks.get(key) or Mark(1 + max((number for number, _ in self._files()), default=0), 0)
        line = _encode(row) + b"\n"
        with open(self._path(mark.number), "ab") as file:
            file.write(line)
        self.marks[key] = Mark(mark.number, mark.size + len(line))

    def rows(self, key: str) -> list[dict[str, object]]:
        """Return rows of `key`, oldest first."""
        return list(self.lines(key))

    def lines(self, key: str) -> Iterator[dict[str, object]]:
        """Yield rows of `key`, oldest first, of which one is in memory at a time."""
        mark = self.marks.get(key)
        if mark is None:
            return
        left = mark.size
        with open(self._path(mark.number), "rb") as file:
            for line in file:
                left -= len(line)
                if left < 0:
                    return
                yield _decode(line)

    def drop(self, key: str) -> None:
        """Forget `key`; its file stays until no checkpoint can need it any more."""
        self.marks.pop(key, None)

    def checkpoint(self) -> dict[str, list[int]]:
        """Make the rows durable. Files that neither this checkpoint nor the one before knows go: that one may still be the last on disk."""
        now = {mark.number for mark in self.marks.values()}
        for number, path in self._files():
            if number in now:
                _sync(path)
            elif number not in self._older:
                path.unlink()
        self._older = now
        return {key: list(mark) for key, mark in self.marks.items()}

    def _files(self) -> list[tuple[int, Path]]:
        return [(int(path.stem), path) for path in self._folder.glob("*.jsonl")]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.jsonl"


def _sync(path: Path) -> None:
    with open(path, "rb") as file:
        os.fsync(file.fileno())
