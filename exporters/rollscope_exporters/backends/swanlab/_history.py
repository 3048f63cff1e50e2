"""The folders of a run read back: their points, each once, and how they end."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from .._logfile import LogFile
from ._compat import Logged, LoggedEnd, LoggedMedia, LoggedScalar, LoggedStart, media_path, parse_record
from ._points import Item, Media, Point

_STAMP = "%Y%m%d_%H%M%S_%f"
_STAMP_LENGTH = 22


class History:
    """Folders of one run below `root`."""

    def __init__(self, root: Path, run_id: str) -> None:
        self._root, self._run_id = root, run_id

    def new_folder(self) -> Path:
        """A name that sorts behind those there are."""
        return self._root / f"run-{datetime.now().strftime(_STAMP)}-{self._run_id}"

    @property
    def folders(self) -> list[Path]:
        """Oldest first."""
        found = self._root.glob(f"run-*-{self._run_id}")
        return sorted(path for path in found if path.is_dir() and path.name[5 + _STAMP_LENGTH :] == self._run_id)

    def points(self, folders: Iterable[Path]) -> Iterator[Point]:
        """Points in the order in which they were logged; one that is in two folders comes twice."""
        for folder in folders:
            for record in records(folder):
                if isinstance(record, LoggedScalar):
                    yield Point(record.key, record.step, record.time, record.value)
                elif isinstance(record, LoggedMedia):
                    yield Point(record.key, record.step, record.time, _media(folder, record))

    def start(self) -> dict[str, Any]:
        """How the run was begun, as its newest folder says; empty when there is none."""
        for folder in reversed(self.folders):
            for record in records(folder):
                if isinstance(record, LoggedStart):
                    return record.identity
        return {}

    def end(self) -> LoggedEnd | None:
        """How the newest folder ends; None while it is open."""
        last = None
        for folder in self.folders[-1:]:
            last = next((record for record in records(folder) if isinstance(record, LoggedEnd)), None)
        return last

    @staticmethod
    def remove(folders: Iterable[Path]) -> None:
        """Delete folders whose points stand in another one."""
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)


def log_of(folder: Path) -> Path:
    """The file of a run's folder, made or still to be made."""
    return next(folder.glob("*.swanlab"), folder / "not-yet.swanlab")


def records(folder: Path) -> Iterator[Logged]:
    """What a folder's file tells, up to where it was cut."""
    for raw in LogFile(log_of(folder)).read():
        record = parse_record(raw)
        if record is not None:
            yield record


def _media(folder: Path, record: LoggedMedia) -> Media:
    return Media(record.kind, tuple(_item(media_path(folder, record.kind, name), record.kind, caption) for name, caption in record.files))


def _item(path: Path, kind: str, caption: str) -> Item:
    try:
        content = path.read_bytes()
    except FileNotFoundError:  # cut off by a power failure, a moment after its record
        content = b"(lost)"
    if kind == "image":
        return Item(content, caption, path.suffix[1:])
    return Item(content.decode("utf-8", "replace"), caption)
