"""Descriptors in a process that is not ours: its program may close all that it did not open, and use their numbers for its own files."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["File", "Kept", "file_of", "open_above", "opened"]

_STANDARD = 2
"""The highest number that a program writes to without having opened anything."""


class File(NamedTuple):
    """Which file it is, whatever its name and whoever opened it."""

    device: int
    inode: int


def file_of(place: int | Path) -> File:
    """Return which file a descriptor or a path leads to. Raises `OSError`."""
    found = os.stat(place)
    return File(found.st_dev, found.st_ino)


def open_above(path: Path, flags: int, mode: int = 0o644) -> int:
    """Open as `os.open` does, never as standard input, output or error, which `print` would write into. Raises `OSError`."""
    fd = os.open(path, flags, mode)
    if fd > _STANDARD:
        return fd
    try:
        return fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _STANDARD + 1)
    finally:
        os.close(fd)


@contextlib.contextmanager
def opened(path: Path, flags: int, file: File) -> Iterator[int]:
    """Open `path` for a moment rather than keep it open. Raises `OSError`, also where it does not lead to `file` any more."""
    fd = open_above(path, flags)
    try:
        if file_of(fd) != file:
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(path))
        yield fd
    finally:
        os.close(fd)


class Kept:
    """A descriptor that has to stay open. Raises `OSError` when the file cannot be opened."""

    def __init__(self, path: Path, flags: int) -> None:
        self.fd = open_above(path, flags)
        self.file = file_of(self.fd)

    def ours(self) -> bool:
        """Return whether the number still leads to the file that we opened. Ask before every use."""
        try:
            return self.fd >= 0 and file_of(self.fd) == self.file
        except OSError:
            return False

    def close(self) -> None:
        """Close it, unless somebody else did."""
        if self.ours():
            os.close(self.fd)
        self.fd = -1
