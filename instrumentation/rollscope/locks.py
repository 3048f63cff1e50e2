"""Locks on files, by which processes know of each other: the system lets go of one when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .descriptors import Kept, file_of, open_above

__all__ = ["FileLock", "is_held"]

_AGAIN = 0.02
"""Seconds between two tries."""


class FileLock:
    """An exclusive lock on a file. Raises `OSError` when the file cannot be opened for writing."""

    def __init__(self, path: Path) -> None:
        self._kept = Kept(path, os.O_RDWR | os.O_CREAT)

    @property
    def fd(self) -> int:
        """Its descriptor; -1 once it is closed."""
        return self._kept.fd

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock within `timeout` seconds; False when another keeps it, or somebody closed the file."""
        end = time.monotonic() + timeout
        while self._kept.ours():
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(_AGAIN)
        return False

    def named(self, path: Path) -> bool:
        """Return whether `path` still leads to the file that is locked."""
        try:
            return self._kept.ours() and file_of(path) == self._kept.file
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the file, and with it of the lock."""
        self._kept.close()


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock on `path`. Looking takes it, shared, for a moment."""
    try:
        fd = open_above(path, os.O_RDONLY)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
