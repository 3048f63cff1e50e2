"""A child's sign of life: a small file whose age the supervisor watches and whose content `/v1/status` shows."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import Literal

import msgspec

from rollscope.files import replace_file

BEAT_FILE = "beat.json"
"""A worker's, in its folder."""
PIPELINE_BEAT = "pipeline.beat"
"""The pipeline's, in the storage folder."""
State = Literal["starting", "idle", "writing", "waiting", "ended"]
"""`ended`: in order."""

_EVERY = 0.5


class Beat(msgspec.Struct, kw_only=True):
    """Content of the file."""

    pid: int
    time: float
    """Unix time, s."""
    state: State
    reason: str = ""
    """Why it waits, or what it is finding out."""
    failures: int = 0
    """Tries in a row that failed."""
    position: int = 0
    """How far it is: outbox id of a worker, number of an inbox entry of the pipeline."""


class BeatFile:
    """Writes the beat, twice a second at most unless the state changes."""

    def __init__(self, path: Path, pid: int) -> None:
        self._path = path
        self._pid = pid
        self._next = 0.0
        self._state = ""

    def __call__(self, state: State, *, reason: str = "", failures: int = 0, position: int = 0) -> None:
        """Say that the process gets on. On a full disk only the file's time changes: what it says is old then."""
        now = time.monotonic()
        if now < self._next and state == self._state:
            return
        self._next, self._state = now + _EVERY, state
        beat = Beat(pid=self._pid, time=time.time(), state=state, reason=reason, failures=failures, position=position)
        try:
            replace_file(self._path, msgspec.json.encode(beat))
        except OSError:
            self._next = 0.0
            with contextlib.suppress(OSError):
                os.utime(self._path)


def read_beat(path: Path) -> Beat | None:
    """Return the last beat, None when there is none that can be read."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Beat)
    except (OSError, msgspec.DecodeError):
        return None


def last_state(path: Path | None) -> str:
    """Return the state that the last beat tells: empty where there is none, `unreadable` where it cannot be read."""
    if path is None or not path.exists():
        return ""
    beat = read_beat(path)
    return beat.state if beat else "unreadable"
