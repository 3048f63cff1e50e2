"""Refuse file systems on which mapped files and locks do not do what a journal needs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from ._errors import JournalError

_CLUSTER: Final = {"beegfs", "ceph", "gfs2", "glusterfs", "gpfs", "lustre", "ocfs2", "orangefs", "panfs", "pvfs2", "wekafs"}
_NETWORK: Final = {"9p", "afs", "autofs", "cifs", "coda", "davfs", "ncpfs", "nfs", "nfs4", "smb3", "smbfs"}
_LOCAL_FUSE: Final = frozenset({"fuse.fuse-overlayfs", "fuse.lxcfs"})


def check_local(folder: Path) -> None:
    """Raise `JournalError` when `folder` lies, or would lie, on a network file system."""
    kind, mount = file_system(folder)
    if kind in _CLUSTER | _NETWORK or kind == "fuse" or (kind.startswith("fuse.") and kind not in _LOCAL_FUSE):
        raise JournalError(
            f"{folder} lies on {mount}, a {kind} file system: its mapped files and locks do not survive what a journal must survive. "
            "Set ROLLSCOPE_DIR to a folder on a local disk, for example /tmp/rollscope or the node's scratch"
        )


def file_system(folder: Path, mountinfo: Path = Path("/proc/self/mountinfo")) -> tuple[str, str]:
    """Kind and mount point of the file system that holds `folder`, which need not exist yet; empty where none is known."""
    target = os.path.realpath(folder)
    best = ("", "")
    try:
        lines = mountinfo.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError:
        return best
    for line in lines:
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        mount = _unescape(fields[4])
        # Of two mounts on one place the later one is seen.
        if _within(target, mount) and len(mount) >= len(best[1]):
            best = (right.split()[0], mount)
    return best


def _within(path: str, mount: str) -> bool:
    return path == mount or path.startswith(mount.rstrip("/") + "/")


def _unescape(field: str) -> str:
    return re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), field)
