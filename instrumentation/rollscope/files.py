"""Replacing a file so that a reader, or the next start after a power cut, sees the old or the new one, whole; what room a disk has."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import NamedTuple

__all__ = ["Disk", "disk", "replace_file", "room", "sync_folder"]


def replace_file(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write `content` beside `path` and rename it there; one process at a time may. Raises `OSError`.

    durable: sync file and folder, so that it is there after a power cut.
    """
    new = path.with_name(f"{path.name}.new")
    with open(new, "wb") as file:
        file.write(content)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.replace(new, path)
    if durable:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make the names in `folder` durable. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Disk(NamedTuple):
    """Bytes of a file system; without bound where it does not say."""

    free: int
    """For whoever is not root."""
    whole: int


def disk(folder: Path) -> Disk:
    """Return what there is where `folder` lies. Raises `OSError`."""
    found = os.statvfs(folder)
    return Disk(found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize) if found.f_blocks else Disk(sys.maxsize, sys.maxsize)


def room(folder: Path) -> str:
    """Return how much is free where `folder` lies, for people; empty when the system does not say."""
    try:
        found = disk(folder)
    except OSError:
        return ""
    return f"{found.free >> 20} MiB of {found.whole >> 20} MiB are free there" if found.whole < sys.maxsize else ""
