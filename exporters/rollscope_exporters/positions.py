"""What workers have written beside the store: `backends/<name>[/<run>]/position.json`.

A worker replaces its file with a rename after each checkpoint, so a reader sees a whole file. `signals` says what is routed to
the worker; where an older file lacks it, everything is.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec

from .beats import BEAT_FILE, read_beat
from .records import SIGNALS

FILE = "position.json"

_FRESH = 120
"""Seconds for which a worker's word counts: one that waits repeats it more often."""


class SetAside(msgspec.Struct, frozen=True):
    """A record that its backend can never take."""

    id: int
    """Its outbox id."""
    run: str = ""
    what: str = ""
    reason: str = ""


class _File(msgspec.Struct):
    position: int = 0
    signals: list[str] = msgspec.field(default_factory=lambda: list(SIGNALS))
    set_aside: list[SetAside] = []
    left_out: dict[str, dict[str, int]] = {}
    per_run: bool = False


class WorkerState(msgspec.Struct, frozen=True):
    """How far one worker is."""

    backend: str
    run: str | None
    """The run it serves, None for a worker of all runs."""
    position: int
    """Outbox id up to which everything is delivered, set aside or left out."""
    signals: frozenset[str]
    set_aside: list[SetAside] = []
    left_out: dict[str, dict[str, int]] = {}
    """Reason → run → rows that configuration or the backend's own limits left out (sampling and the like)."""

    @property
    def name(self) -> str:
        """`backend` or `backend/run`."""
        return self.backend if self.run is None else f"{self.backend}/{self.run}"


_decode = msgspec.json.Decoder(_File).decode


def worker_folder(storage: Path, backend: str, run: str | None = None) -> Path:
    """Return the folder of a worker; a run id that is no file name is quoted."""
    folder = storage / "backends" / backend
    return folder if run is None else folder / quote(run, safe="")


def read_workers(storage: Path, unreadable: list[str] | None = None) -> list[WorkerState]:
    """Return the state of every worker that has ever stored a position under `storage`.

    A file that is no position file raises `ValueError`, or is named in `unreadable` where that is given.
    """
    states = []
    for path, backend, run in _files(storage / "backends"):
        try:
            states.append(_read(path, backend, run))
        except ValueError as error:
            if unreadable is None:
                raise
            unreadable.append(str(error))
    return states


def why_waiting(storage: Path, backend: str, run: str, now: float) -> str:
    """Return what holds up the worker of a backend and run, in its own words; empty while nothing does. `now`: Unix time, s."""
    for served in (run, None):
        beat = read_beat(worker_folder(storage, backend, served) / BEAT_FILE)
        if beat is not None:
            return beat.reason if now - beat.time < _FRESH else ""
    return ""


def _files(folder: Path) -> Iterator[tuple[Path, str, str | None]]:
    for path in sorted(folder.glob(f"*/{FILE}")):
        yield path, path.parent.name, None
    for path in sorted(folder.glob(f"*/*/{FILE}")):
        yield path, path.parent.parent.name, unquote(path.parent.name)


def _read(path: Path, backend: str, run: str | None) -> WorkerState:
    try:
        found = _decode(path.read_bytes())
    except msgspec.DecodeError as error:
        raise ValueError(f"{path}: not a position file: {error}") from error
    return WorkerState(backend, run, found.position, frozenset(found.signals), found.set_aside, found.left_out)
