"""Writes `<storage>/jsonl/<run>/<signal>.jsonl`, and the content of artifacts and images beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, Field

from rollscope.files import replace_file

from ...records import SIGNALS, Artifact, Image, Record
from .._names import encode_name
from .._protocol import UnavailableError
from ._file import LineFile, Mark
from ._shape import json_line


class JsonlConfig(BaseModel):
    """The section `backends.jsonl`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = None
    """Folder of the runs; by default `jsonl` in the storage folder."""
    rotate_bytes: int = Field(256 * 1024 * 1024, ge=1024)
    """Size at which a file gives way to the next; a batch of records is never split."""


class JsonlBackend:
    """One file per signal and run. After `kill -9` the files hold each record once: what was written after the last
    checkpoint is cut off at the next start and comes again."""

    Config: ClassVar[type[BaseModel]] = JsonlConfig
    accepts: ClassVar[frozenset[str]] = frozenset(SIGNALS)
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, JsonlConfig)
        self._root = config.path or storage / "jsonl"
        self._rotate_bytes = config.rotate_bytes
        self._files: dict[tuple[str, str], LineFile] = {}
        self._unsynced: set[tuple[str, str]] = set()
        known: dict[str, Any] = dict(state)
        for run, signals in known.get("runs", {}).items():
            for signal, mark in signals.items():
                self._file(run, signal, Mark(*mark))

    def write(self, records: Sequence[Record]) -> None:
        """Append `records`, one line each. A full disk raises `UnavailableError` and leaves the files as they were."""
        lines: dict[tuple[str, str], list[bytes]] = {}
        for record in records:
            lines.setdefault((record.run, record.signal), []).append(json_line(record))
        written: list[tuple[LineFile, Mark]] = []
        try:
            for key, batch in lines.items():
                file = self._file(*key)
                written.append((file, file.append(batch)))
            self._keep_contents(records)
        except OSError as error:
            for file, mark in written:
                file.restore(mark)
            raise UnavailableError(f"cannot write below {self._root}: {error}. Free some space or set backends.jsonl.path") from error
        self._unsynced.update(lines)

    def checkpoint(self) -> dict[str, object]:
        for key in self._unsynced:
            self._files[key].sync()
        self._unsynced.clear()
        runs: dict[str, dict[str, list[int]]] = {}
        for (run, signal), file in self._files.items():
            runs.setdefault(run, {})[signal] = list(file.mark)
        return {"runs": runs}

    def close(self) -> None:
        """Nothing is kept open."""

    def _file(self, run: str, signal: str, mark: Mark = Mark()) -> LineFile:  # noqa: B008 - immutable
        if (run, signal) not in self._files:
            self._files[run, signal] = LineFile(self._folder(run), signal, self._rotate_bytes, mark)
        return self._files[run, signal]

    def _folder(self, run: str) -> Path:
        return self._root / encode_name(run, _in_file_names, 200)

    def _keep_contents(self, records: Sequence[Record]) -> None:
        for record in records:
            if isinstance(record, (Artifact, Image)) and record.content is not None:
                path = self._folder(record.run) / (image_path(record) if isinstance(record, Image) else _artifact_path(record))
                path.parent.mkdir(parents=True, exist_ok=True)
                replace_file(path, record.content)


def image_path(image: Image) -> PurePosixPath:
    """Return where the content of an image lies within its run's folder: `images/<digest>.png`, once however often it is shown."""
    kind = encode_name(image.media_type.rpartition("/")[2], _in_file_names, 20)
    return PurePosixPath("images", f"{image.digest.removeprefix('sha256:')}.{kind}")


def _artifact_path(artifact: Artifact) -> PurePosixPath:
    return PurePosixPath("artifacts", encode_name(artifact.name, _in_paths, 200))


def _in_file_names(character: str) -> bool:
    return character.isalnum() or character in "-_."


def _in_paths(character: str) -> bool:
    return _in_file_names(character) or character in "/ "


def files_of(root: Path, run: str, signal: str) -> list[Path]:
    """Return files of one signal below `root` in the order in which they were written."""
    folder = root / encode_name(run, _in_file_names, 200)
    newest = folder / f"{signal}.jsonl"
    return [*sorted(folder.glob(f"{signal}.[0-9]*.jsonl")), *([newest] if newest.exists() else [])]
