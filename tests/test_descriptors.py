"""Descriptors whose numbers the program may use for files of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope.descriptors import Kept, file_of, open_above, opened


def test_open_above_the_standard_ones(tmp_path: Path) -> None:
    """A file is opened with a number above 2, is not inherited, and the standard one that was free stays free."""
    program = f"""
import os
from pathlib import Path
from rollscope.descriptors import open_above
os.close(0)
fd = open_above(Path({str(tmp_path)!r}) / "file", os.O_RDWR | os.O_CREAT)
os.write(fd, b"ours")
assert fd > 2 and not os.get_inheritable(fd)
try:
    os.fstat(0)
except OSError:
    print("free")
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True)

    assert done.stdout == b"free\n"
    assert (tmp_path / "file").read_bytes() == b"ours"


def test_opened_is_the_same_file(tmp_path: Path) -> None:
    """A path that leads to another file by now, or to none, is not opened in its place."""
    path = tmp_path / "ours"
    path.write_bytes(b"ours")
    file = file_of(path)

    with opened(path, os.O_RDONLY, file) as fd:
        assert os.read(fd, 10) == b"ours"
    path.rename(tmp_path / "elsewhere")  # its inode stays taken
    path.write_bytes(b"theirs")
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"[Ss]tale"), opened(path, os.O_RDONLY, file):
        pass
    path.unlink()
    with pytest.raises(FileNotFoundError), opened(path, os.O_RDONLY, file):
        pass
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_kept_is_not_closed_for_another(tmp_path: Path) -> None:
    """A number that leads to another file by now is neither ours nor closed."""
    kept = Kept(tmp_path / "ours", os.O_RDWR | os.O_CREAT)
    assert kept.ours()
    theirs = open_above(tmp_path / "theirs", os.O_RDWR | os.O_CREAT)
    os.dup2(theirs, number := kept.fd)

    assert not kept.ours()
    kept.close()
    assert file_of(number) == file_of(tmp_path / "theirs")
    os.close(number)
    os.close(theirs)
