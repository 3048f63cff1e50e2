"""Files are mapped without a descriptor of their own."""

from __future__ import annotations

import mmap
import os
import sys
from pathlib import Path

import pytest

from rollscope.journal import _mapping
from rollscope.journal._mapping import map_file


@pytest.fixture
def fd(tmp_path: Path) -> int:
    """A file of two pages."""
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.posix_fallocate(fd, 0, 8192)
    return fd


def test_map_is_of_the_file(tmp_path: Path, fd: int) -> None:
    """What is written to the map is in the file, and the other way, after the descriptor is closed; both pages of it."""
    area = map_file(fd, 8192)
    os.close(fd)
    area[5000:5005] = b"there"
    with open(tmp_path / "file", "r+b") as file:
        file.write(b"back")

    assert area[:4] == b"back"
    area.flush()
    assert (tmp_path / "file").read_bytes()[5000:5005] == b"there"
    view = memoryview(area)
    with pytest.raises(BufferError):
        area.close()
    view.release()
    area.close()
    with pytest.raises(ValueError, match="closed"):
        area[0]


def test_map_has_no_descriptor(fd: int) -> None:
    """Mapping opens nothing and closing the map closes nothing."""
    before = sorted(os.listdir("/proc/self/fd"))
    area = map_file(fd, 8192)

    assert sorted(os.listdir("/proc/self/fd")) == before
    area.close()
    assert sorted(os.listdir("/proc/self/fd")) == before
    os.close(fd)


def test_what_cannot_be_mapped(tmp_path: Path) -> None:
    """The system's refusal is an `OSError`, as everywhere, and is counted by whoever asked."""
    fd = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(fd, 0, 4096)

    with pytest.raises(OSError, match="Permission denied"):
        map_file(fd, 4096)
    os.close(fd)


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="Python maps without a descriptor by itself")
def test_without_the_c_library(tmp_path: Path, fd: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """An interpreter without ctypes maps as Python does."""
    monkeypatch.setitem(sys.modules, "ctypes", None)
    _mapping._put.cache_clear()
    area = map_file(fd, 8192)
    os.close(fd)
    area[:4] = b"ours"

    assert isinstance(area, mmap.mmap)
    assert (tmp_path / "file").read_bytes()[:4] == b"ours"
    area.close()
    _mapping._put.cache_clear()
