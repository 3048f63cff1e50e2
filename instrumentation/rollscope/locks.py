"""Locks on files, by which processes know of each other: the system lets go of one when its holder ends, however it ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

__all__ = ["FileLock", "is_held"]

_AGAIN = 0.02
"""Seconds between two tries."""


class FileLock:
    """An exclusive lock on a file. Raises `OSError` when the file cannot be opened for writing."""

    def __init__(self, path: Path) -> None:
        self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def acquire(self, timeout: float = 0.0) -> bool:
        """Take the lock within `timeout` seconds; False when another keeps it."""
        end = time.monotonic() + timeout
        while True:
            try:
                fcntl.flock(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                if time.monotonic() >= end:
                    return False
                time.sleep(_AGAIN)

    def named(self, path: Path) -> bool:
        """Return whether `path` still leads to the file that is locked."""
        try:
            return os.path.samestat(os.fstat(self.fd), os.stat(path))
        except OSError:
            return False

    def close(self) -> None:
        """Let go of the file, and with it of the lock."""
        if self.fd >= 0:
            os.close(self.fd)
        self.fd = -1


def is_held(path: Path) -> bool:
    """Return whether some process holds the lock on `path`. Looking takes it, shared, for a moment."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(fd)
