"""Locks on files."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from rollscope.descriptors import open_above
from rollscope.locks import FileLock, is_held


def test_lock_does_not_take_the_file_of_another(tmp_path: Path) -> None:
    """A lock whose descriptor was closed by the program locks nothing in its place, and says that it has none."""
    lock = FileLock(tmp_path / "lock")
    assert lock.acquire()
    theirs = open_above(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    os.dup2(theirs, number := lock.fd)

    assert not lock.named(tmp_path / "lock")
    assert not lock.acquire(timeout=1.0)
    assert not is_held(tmp_path / "theirs")
    lock.close()
    fcntl.flock(number, fcntl.LOCK_SH)
    os.close(number)
    os.close(theirs)
