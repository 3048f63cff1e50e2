"""A run's own files below `<dir>/wandb/rollscope/<id>/`: what a later process needs to open the run again."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ...records import Artifact, RunStarted, decode, encode


class NeedsSync(msgspec.Struct):
    """Content of `needs_sync.json`: the server lacks rows that stand in the folders."""

    since: float
    """Unix time, s."""
    reason: str
    exit_code: int | None = None
    """Of the run, when it is over."""


class RunFiles:
    """Files of one run."""

    def __init__(self, root: Path, run_id: str) -> None:
        self.folder = root / "wandb" / "rollscope" / run_id
        self._started, self._needs_sync = self.folder / "started.msgpack", self.folder / "needs_sync.json"
        self._artifacts, self._seen = self.folder / "artifacts", self.folder / "media_seen"
        self._joined = self.folder / "joined"
        self._artifacts.mkdir(parents=True, exist_ok=True)

    @property
    def started(self) -> RunStarted | None:
        """The start of the run as it was told last."""
        record = decode(self._started.read_bytes()) if self._started.exists() else None
        return record if isinstance(record, RunStarted) else None

    def keep_start(self, record: RunStarted) -> int:
        """Keep what a run says of itself now; returns when its first attempt began, Unix ns."""
        known = self.started
        began = record.time if known is None else min(known.time, record.time)
        _replace(self._started, encode(msgspec.structs.replace(record, time=began)))
        return began

    @property
    def needs_sync(self) -> NeedsSync | None:
        return msgspec.json.decode(self._needs_sync.read_bytes(), type=NeedsSync) if self._needs_sync.exists() else None

    def mark_needs_sync(self, reason: str, exit_code: int | None = None) -> NeedsSync:
        """Note that the server lacks something, since the first such note."""
        known = self.needs_sync
        mark = NeedsSync(known.since if known else time.time(), reason, exit_code)
        _replace(self._needs_sync, msgspec.json.encode(mark))
        return mark

    def clear_needs_sync(self) -> None:
        self._needs_sync.unlink(missing_ok=True)

    @property
    def media_seen(self) -> int:
        """Files of rows below this number were seen on the server."""
        return int(self._seen.read_text()) if self._seen.exists() else 0

    def keep_media_seen(self, row: int) -> None:
        _replace(self._seen, str(row).encode())

    @property
    def joined(self) -> str:
        """Name of the folder that all others were joined into, as long as those may still be there."""
        return self._joined.read_text() if self._joined.exists() else ""

    def mark_joined(self, folder: str) -> None:
        _replace(self._joined, folder.encode())

    def clear_joined(self) -> None:
        self._joined.unlink(missing_ok=True)

    def keep_artifact(self, record: Artifact) -> bool:
        """Keep an artifact until it is safely away; False when the very same is kept already."""
        content = encode(record)
        path = self._artifact_path(content)
        if path.exists():
            return False
        _replace(path, content)
        return True

    def drop_artifact(self, record: Artifact) -> None:
        """Forget one that W&B does not take."""
        self._artifact_path(encode(record)).unlink(missing_ok=True)

    def artifacts(self) -> Iterator[Artifact]:
        """Kept artifacts, oldest first."""
        for path in sorted(self._artifacts.glob("*.msgpack"), key=lambda path: path.stat().st_mtime_ns):
            record = decode(path.read_bytes())
            if isinstance(record, Artifact):
                yield record

    def clear_artifacts(self) -> None:
        for path in self._artifacts.glob("*.msgpack"):
            path.unlink()

    def _artifact_path(self, content: bytes) -> Path:
        return self._artifacts / f"{hashlib.sha256(content).hexdigest()[:32]}.msgpack"


def _replace(path: Path, content: bytes) -> None:
    part = path.with_name(path.name + ".part")
    with open(part, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)
