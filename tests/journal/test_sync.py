"""The inbox's use: nothing is acknowledged before it is on disk."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from rollscope.journal import Entry, Journal, JournalError, LogReader

ReadAll = Callable[..., list[Entry]]


def test_sync_covers_everything_appended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read_all: ReadAll) -> None:
    """One sync reaches every segment written since the last, finished ones too, and the folder when files are new."""
    synced: list[str] = []
    fdatasync, fsync = os.fdatasync, os.fsync
    monkeypatch.setattr(os, "fdatasync", lambda fd: (synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))), fdatasync(fd)))
    monkeypatch.setattr(os, "fsync", lambda fd: (synced.append(os.path.basename(os.readlink(f"/proc/self/fd/{fd}"))), fsync(fd)))
    journal = Journal(tmp_path / "inbox", meta={}, segment_bytes=4096, fsync=True)
    for _ in range(10):
        journal.append(b"x" * 1000, 1)
    journal.append(b"x", 0)

    journal.sync()
    assert sorted(set(synced)) == ["inbox", "p0-00000001.seg", "p1-00000001.seg", "p1-00000002.seg", "p1-00000003.seg", "p1-00000004.seg"]
    synced.clear()
    journal.sync()
    assert synced == []
    journal.append(b"y", 1)
    journal.sync()
    assert synced == ["p1-00000004.seg"]
    assert len(read_all(LogReader(tmp_path / "inbox"))) == 12
    journal.close()


def test_sync_says_when_the_disk_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sync that failed is an error: the caller must not acknowledge."""
    journal = Journal(tmp_path, meta={}, fsync=True)
    journal.append(b"x")

    def fail(_: int) -> None:
        raise OSError(5, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", fail)
        with pytest.raises(JournalError, match="Input/output error"):
            journal.sync()
    journal.sync()
    journal.close()
    with pytest.raises(JournalError, match="closed"):
        journal.sync()


def test_sync_needs_the_mode(tmp_path: Path) -> None:
    """A journal that was not opened for it says so instead of promising what it cannot keep."""
    journal = Journal(tmp_path, meta={})

    with pytest.raises(JournalError, match="fsync=True"):
        journal.sync()
    journal.close()


def test_large_inbox_record(tmp_path: Path) -> None:
    """A request of 64 MiB passes whole."""
    journal = Journal(tmp_path, meta={}, fsync=True)
    payload = os.urandom(1 << 20) * 64

    assert journal.append(payload, 2) == 1
    journal.sync()
    assert LogReader(tmp_path).read(2, 1)[0].payload == payload
    journal.close()
