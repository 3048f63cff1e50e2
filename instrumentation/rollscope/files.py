"""Replacing a file so that a reader, or the next start after a power cut, sees the old or the new one, whole; what room a disk has."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["free_bytes", "replace_file", "room", "sync_folder"]


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


def free_bytes(folder: Path) -> int:
    """Return how much is free where `folder` lies, for whoever is not root. Raises `OSError`."""
    found = os.statvfs(folder)
    return found.f_bavail * found.f_frsize


def room(folder: Path) -> str:
    """Return how much is free where `folder` lies, for people; empty when the system does not say."""
    try:
        found = os.statvfs(folder)
    except OSError:
        return ""
    free, whole = found.f_bavail * found.f_frsize / (1 << 20), found.f_blocks * found.f_frsize / (1 << 20)
    return f"{free:.0f} MiB of {whole:.0f} MiB are free there"
