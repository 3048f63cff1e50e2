"""Files of a checkpoint against what was recorded of them."""

from __future__ import annotations

import os
import socket
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ..records import Artifact

_MOST_FILES = 10_000

Listed = tuple[str, int, int]
"""Path below the checkpoint's place, bytes, time of modification (Unix ns)."""


class ChangedError(Exception):
    """When a file is gone, is another one than was recorded, or may not be read."""


def place_of(artifact: Artifact) -> Path:
    """Where the checkpoint lies on this host. Raises `ChangedError` when it is not on a file system at all."""
    parts = urlsplit(artifact.uri)
    if parts.scheme != "file":
        raise ChangedError(f"{artifact.uri} is no file of a host; it stays where it is")
    return Path(unquote(parts.path))


def reachable_files(artifact: Artifact) -> list[Listed]:
    """The files as they were recorded, or as they are where nobody listed them. Raises `ChangedError`."""
    place = place_of(artifact)
    if not place.exists():
        here = socket.gethostname()
        elsewhere = artifact.host and artifact.host != here
        raise ChangedError(f"{place} lies on {artifact.host}, which {here} does not reach" if elsewhere else f"{place} is gone")
    if artifact.files:
        return [(path, size, modified) for path, size, modified, _ in artifact.files]
    return _listed(place)


def check_file(place: Path, listed: Listed) -> Path:
    """The file, which is what was recorded. Raises `ChangedError`."""
    name, size, modified = listed
    parts = Path(name).parts
    if not parts or ".." in parts or Path(name).is_absolute():
        raise ChangedError(f"{name!r} is no path within a checkpoint")
    file = place / name if place.is_dir() else place
    try:
        about = file.stat()
    except OSError:
        raise ChangedError(f"{file} is gone") from None
    if not stat.S_ISREG(about.st_mode) or about.st_uid != os.geteuid():
        raise ChangedError(f"{file} is no regular file of the bridge's own user")
    if (about.st_size, about.st_mtime_ns) != (size, modified):
        raise ChangedError(f"{file} was changed after it was recorded ({size} bytes then, {about.st_size} now)")
    return file


def _listed(place: Path) -> list[Listed]:
    if not place.is_dir():
        about = place.stat()
        return [(place.name, about.st_size, about.st_mtime_ns)]
    files: list[Listed] = []
    for folder, _, names in os.walk(place):
        for name in names:
            file = Path(folder, name)
            about = file.stat()
            files.append((file.relative_to(place).as_posix(), about.st_size, about.st_mtime_ns))
            if len(files) > _MOST_FILES:
                raise ChangedError(f"{place} has more than {_MOST_FILES} files")
    return sorted(files)
