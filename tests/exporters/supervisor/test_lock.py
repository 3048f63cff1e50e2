"""One bridge per storage folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rollscope.locks import is_held
from rollscope_exporters.supervisor import LockedError, StorageLock, read_bridge


def test_a_second_bridge_is_told_who_is_there(tmp_path: Path) -> None:
    """With the pid and what to do."""
    lock = StorageLock(tmp_path)
    lock.announce("127.0.0.1:1", "127.0.0.1:2")
    with pytest.raises(LockedError, match=rf"another bridge \(pid {os.getpid()}\) already runs on .*; end it, or give this one"):
        StorageLock(tmp_path)
    lock.release()
    StorageLock(tmp_path).release()


def test_the_announcement_counts_only_while_the_lock_is_held(tmp_path: Path) -> None:
    """A file left behind by a killed bridge leads nowhere."""
    lock = StorageLock(tmp_path)
    lock.announce("127.0.0.1:1", None)
    assert read_bridge(tmp_path) == {"pid": os.getpid(), "grpc": "127.0.0.1:1", "http": None}
    left = (tmp_path / "bridge.json").read_bytes()
    lock.release()
    (tmp_path / "bridge.json").write_bytes(left)
    assert read_bridge(tmp_path) is None


def test_looking_at_a_lock_does_not_take_it(tmp_path: Path) -> None:
    """Nor does a missing file count as held."""
    path = tmp_path / "bridge.lock"
    assert not is_held(path)
    lock = StorageLock(tmp_path)
    assert is_held(path)
    lock.release()
    assert not is_held(path)
