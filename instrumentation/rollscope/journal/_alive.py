"""The lock by which others see whether a log's writer lives."""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import time
from pathlib import Path
from typing import Final

import msgspec

from ..descriptors import Kept, file_of, open_above
from ._errors import JournalError
from ._mapping import map_file

_TRIES: Final = 100


class AliveLock:
    """Held (flock) from creation until the process ends.

    The map of the file holds it as well, for when the program closes the descriptor; on overlayfs, which hands the map to another file,
    it does not, and `hold_on` takes the lock again.
    """

    def __init__(self, path: Path) -> None:
        # A new file gets its name when it is locked: no reader may ever see a newborn log as a dead one.
        new = path.with_name(f"{path.name}.{os.getpid()}")
        identity = msgspec.json.encode(_own_identity())
        self._closed = False
        self._map: mmap.mmap | None = None
        self._kept = Kept(path if path.exists() else new, os.O_RDWR | os.O_CREAT)
        try:
            _lock(self._kept.fd, path)
            os.ftruncate(self._kept.fd, 0)
            os.pwrite(self._kept.fd, identity, 0)
            self._map = map_file(self._kept.fd, len(identity))
            if new.exists():
                new.rename(path)
        except BaseException:
            self.close()
            raise

    def named(self, path: Path) -> bool:
        """Return whether `path` still leads to this lock; True where nobody can say."""
        try:
            return file_of(path) == self._kept.file
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:
            return True

    def hold_on(self, path: Path) -> None:
        """Take the lock again if the program closed the descriptor; where that cannot be, the next call tries."""
        if self._kept.ours() or not self.named(path):
            return
        with contextlib.suppress(OSError), contextlib.ExitStack() as unless_taken:
            again = Kept(path, os.O_RDWR)
            unless_taken.callback(again.close)
            if again.file == self._kept.file:
                fcntl.flock(again.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)  # refused where the map holds it, or a reader does, for a moment
                self._kept = again
                if not self._closed:  # meanwhile, by another thread
                    unless_taken.pop_all()

    def close(self) -> None:
        """Let go of the file. In a forked child this leaves the parent's lock as it is."""
        self._closed = True
        if self._map is not None:
            self._map.close()
        self._kept.close()


def _lock(fd: int, path: Path) -> None:
    for _ in range(_TRIES):
        with contextlib.suppress(BlockingIOError):
            return fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        time.sleep(0.002)  # a reader that looks whether we live holds it for a moment
    raise JournalError(f"{path.parent} is written by another process: give each writer a folder of its own")


def is_alive(path: Path) -> bool:
    """Return whether the writer lives: the lock is held, and not merely by a forked child that outlived it."""
    try:
        fd = open_above(path, os.O_RDONLY)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return not _certainly_dead(os.read(fd, 4096))
    finally:
        os.close(fd)
    return False


def _own_identity() -> dict[str, object]:
    return {"pid": os.getpid(), "started": _start_time(os.getpid()), "pids": _pid_namespace()}


def _certainly_dead(content: bytes) -> bool:
    """A process id says something only to those who see the same ones."""
    try:
        owner = msgspec.json.decode(content)
    except msgspec.DecodeError:
        return False
    if not isinstance(owner, dict) or not owner.get("pids") or owner["pids"] != _pid_namespace():
        return False
    return bool(owner.get("started")) and _start_time(owner["pid"]) != owner["started"]


def _pid_namespace() -> str:
    with contextlib.suppress(OSError):
        return os.readlink("/proc/self/ns/pid")
    return ""


def _start_time(pid: int) -> str:
    """Clock ticks since boot at which `pid` started; empty for none and for a zombie."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        fields = stat.read().rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    return ""
