"""The rows of a run on this machine: all its folders read together, each row once."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from .._logfile import LogFile
from ._compat import LoggedEnd, LoggedRow, log_path, media_path, parse_record, run_folders
from ._names import ROW
from ._rows import Bins, Cells, Picture, Pictures, Row

_OF_THE_LIBRARY = {"_step", "_runtime", ROW}


@dataclass(frozen=True, slots=True)
class Found:
    """What the folders of a run tell."""

    rows: int = 0
    """One more than the highest row number."""
    exit_code: int | None = None
    """Of the newest folder; None while it is open, or when it was only interrupted."""


class History:
    """Folders of one run below `<root>/wandb`."""

    def __init__(self, root: Path, run_id: str) -> None:
        self._root, self._run_id = root / "wandb", run_id

    @property
    def folders(self) -> list[Path]:
        """Oldest first."""
        return run_folders(self._root, self._run_id)

    def survey(self) -> Found:
        """Read everything once."""
        rows, code = 0, None
        for folder in self.folders:
            code, interrupted = None, False
            for _, record in self._records(folder):
                if isinstance(record, LoggedRow):
                    rows = max(rows, record.number + 1)
                elif record.kind == "preempting":
                    interrupted = True
                else:
                    code = None if interrupted else record.exit_code
        return Found(rows, code)

    def rows(self, first: int, last: int) -> Iterator[tuple[int, Row]]:
        """Rows `first` to `last` (not included) in order, tables read back from their files. What is on no disk is left out."""
        expected = first
        for folder in self.folders:
            for path, record in self._records(folder):
                if isinstance(record, LoggedRow) and expected <= (number := record.number) < last:
                    expected = number + 1
                    yield number, _restored(path, record.values)

    def media(self, first: int, last: int) -> dict[str, Path]:
        """Name → place of the files that rows `first` to `last` (not included) refer to."""
        found: dict[str, Path] = {}
        for folder in self.folders:
            for path, record in self._records(folder):
                if isinstance(record, LoggedRow) and first <= record.number < last:
                    places = {name: media_path(path, name) for name in record.media}
                    found.update({name: place for name, place in places.items() if name not in found or not found[name].exists()})
        return found

    def size(self) -> int:
        """Bytes of the transaction logs."""
        return sum(log_path(folder, self._run_id).stat().st_size for folder in self.folders)

    def remove(self, folders: list[Path]) -> None:
        """Delete folders whose rows stand in another one."""
        for folder in folders:
            shutil.rmtree(folder)

    def _records(self, folder: Path) -> Iterator[tuple[Path, LoggedRow | LoggedEnd]]:
        for raw in LogFile(log_path(folder, self._run_id)).read():
            record = parse_record(raw)
            if record is not None:
                yield folder, record


def _restored(folder: Path, values: dict[str, Any]) -> Row:
    return {key: _media(folder, value) for key, value in values.items() if key not in _OF_THE_LIBRARY}


def _media(folder: Path, value: Any) -> Any:
    kind = value.get("_type") if isinstance(value, dict) else None
    if kind == "histogram":
        return Bins(value["bins"], value["values"])
    if kind == "image-file":
        return _picture(folder, str(value["path"]), str(value.get("caption") or ""))
    if kind == "images/separated":
        return _pictures(folder, value["filenames"], value.get("captions") or [])
    return _table(folder, value) if kind == "table-file" else value


def _picture(folder: Path, name: str, caption: str) -> Picture | str:
    path = media_path(folder, name)
    try:
        return Picture(path.read_bytes(), path.suffix.lstrip("."), caption)
    except FileNotFoundError:  # the machine stopped before its disk had the file
        return "the image was cut off by a crash"


def _pictures(folder: Path, names: list[str], captions: list[str]) -> Pictures | str:
    found = [_picture(folder, name, caption or "") for name, caption in zip_longest(names, captions[: len(names)])]
    pictures = tuple(item for item in found if isinstance(item, Picture))
    return Pictures(pictures) if pictures else "the images were cut off by a crash"


def _table(folder: Path, value: dict[str, Any]) -> Cells:
    try:
        held = json.loads(media_path(folder, value["path"]).read_text(encoding="utf-8"))
    except FileNotFoundError:  # the machine stopped before its disk had the file
        return Cells(["lost"], [["the table was cut off by a crash"]])
    return Cells(held["columns"], held["data"])
