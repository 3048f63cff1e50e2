"""Which trajectories were left out, for what comes late: in memory, and on disk as far as the position vouches for it.

Eight bytes a trajectory, appended to `left_out.<number>`; the position holds number and length, so what was appended after it is cut off
again. A full file gives way to the next one; the one before the last is deleted.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from hashlib import blake2b
from pathlib import Path

import msgspec

_WIDTH = 8
FULL = 200_000 * _WIDTH
"""Size of a file, bytes: between one and two files are known."""


class Mark(msgspec.Struct, frozen=True, array_like=True):
    """How much of the files counts."""

    number: int = 0
    bytes: int = 0


class LeftOut:
    """In memory."""

    def __init__(self, known: Iterable[bytes] = ()) -> None:
        self._known = dict.fromkeys(known)

    def __contains__(self, id: str) -> bool:
        return _key(id) in self._known

    def add(self, id: str) -> None:
        """Know `id`; the oldest are forgotten."""
        self._known[_key(id)] = None
        if len(self._known) > 2 * FULL // _WIDTH:
            del self._known[next(iter(self._known))]


class LeftOutFile:
    """On disk."""

    def __init__(self, folder: Path, mark: Mark) -> None:
        self._folder, self._mark = folder, mark
        self._new: list[bytes] = []

    def read(self) -> list[bytes]:
        """Return what counts; nothing where there are no files. Raises OSError."""
        content = self._content(self._mark.number - 1) + self._content(self._mark.number)[: self._mark.bytes]
        return [content[at : at + _WIDTH] for at in range(0, len(content), _WIDTH)]

    def add(self, id: str) -> None:
        """Remember `id` at the next `flush`."""
        self._new.append(_key(id))

    def flush(self) -> Mark:
        """Make everything durable, for a position that is saved afterwards. Raises OSError; then it can be tried again."""
        if self._new:
            number, start = (self._mark.number, self._mark.bytes) if self._mark.bytes < FULL else (self._mark.number + 1, 0)
            content = b"".join(self._new)
            self._write(number, start, content)
            self._mark = Mark(number, start + len(content))
            self._new.clear()
            self._path(number - 2).unlink(missing_ok=True)
        return self._mark

    def _write(self, number: int, start: int, content: bytes) -> None:
        with open(os.open(self._path(number), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b") as file:
            file.truncate(start)
            file.seek(start)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def _content(self, number: int) -> bytes:
        try:
            return self._path(number).read_bytes()
        except FileNotFoundError:
            return b""

    def _path(self, number: int) -> Path:
        return self._folder / f"left_out.{number}"


def _key(id: str) -> bytes:
    return blake2b(id.encode("utf-8", "surrogatepass"), digest_size=_WIDTH).digest()
