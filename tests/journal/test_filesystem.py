"""Network file systems are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope.journal import JournalError, check_local
from rollscope.journal import _filesystem as filesystem

MOUNTS = """\
22 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 22 0:40 / /home rw - nfs4 server:/home rw
31 22 0:41 / /home/me/scratch rw - xfs /dev/sdb rw
32 22 0:42 / /data\\040set rw - lustre x@tcp:/fs rw
33 22 0:43 / /mnt/over rw - ext4 /dev/sdc rw
34 22 0:44 / /mnt/over rw shared:1 - fuse.sshfs host: rw
35 22 0:45 / /container rw - fuse.fuse-overlayfs overlay rw
nonsense
"""


@pytest.mark.parametrize(
    ("folder", "kind", "mount"),
    [
        ("/var/x", "ext4", "/"),
        ("/home/me/run", "nfs4", "/home"),
        ("/home/me/scratch/run", "xfs", "/home/me/scratch"),
        ("/homes", "ext4", "/"),
        ("/data set/a", "lustre", "/data set"),
        ("/mnt/over", "fuse.sshfs", "/mnt/over"),
    ],
)
def test_file_system(tmp_path: Path, folder: str, kind: str, mount: str) -> None:
    """The innermost and latest mount over a folder counts, whether the folder exists or not."""
    table = tmp_path / "mountinfo"
    table.write_text(MOUNTS)

    assert filesystem.file_system(Path(folder), table) == (kind, mount)


@pytest.mark.parametrize("kind", ["nfs", "nfs4", "lustre", "gpfs", "cifs", "beegfs", "fuse.sshfs", "fuse.s3fs", "fuse", "9p"])
def test_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """The error names the folder, the file system and the cure."""
    monkeypatch.setattr(filesystem, "file_system", lambda folder: (kind, "/mnt"))

    with pytest.raises(JournalError, match=rf"{tmp_path}.*{kind}.*ROLLSCOPE_DIR"):
        check_local(tmp_path)


@pytest.mark.parametrize("kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "zfs", "fuse.fuse-overlayfs", ""])
def test_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    """Local file systems pass, and so does one that nobody knows."""
    monkeypatch.setattr(filesystem, "file_system", lambda folder: (kind, "/"))

    check_local(tmp_path)


def test_here(tmp_path: Path) -> None:
    """This machine's own table is read."""
    assert filesystem.file_system(tmp_path)[0]
    assert filesystem.file_system(tmp_path, tmp_path / "none") == ("", "")
