"""The worker's sign of life: a small file whose age the supervisor watches and whose content `/v1/status` shows."""

from __future__ import annotations

import time
from pathlib import Path

import msgspec

from rollscope.files import replace_file

from ._folders import BEAT_FILE

_EVERY = 0.5


class Beat(msgspec.Struct, kw_only=True):
    """Content of `beat.json`."""

    pid: int
    time: float
    """Unix time, s."""
    state: str
    """`starting`, `idle`, `writing`, `waiting` or, where it ended as it should, `ended`."""
    reason: str = ""
    """Why it waits."""
    failures: int = 0
    """Tries in a row that failed."""
    position: int = 0


class BeatFile:
    """Writes the beat, twice a second at most unless the state changes."""

    def __init__(self, folder: Path, pid: int) -> None:
        self._path = folder / BEAT_FILE
        self._pid = pid
        self._next = 0.0
        self._state = ""

    def __call__(self, state: str, *, reason: str = "", failures: int = 0, position: int = 0) -> None:
        """Say that the worker is alive. A full disk is no reason to stop delivering: the beat is then left out."""
        now = time.monotonic()
        if now < self._next and state == self._state:
            return
        self._next, self._state = now + _EVERY, state
        beat = Beat(pid=self._pid, time=time.time(), state=state, reason=reason, failures=failures, position=position)
        try:
            replace_file(self._path, msgspec.json.encode(beat))
        except OSError:
            self._next = 0.0


def read_beat(folder: Path) -> Beat | None:
    """Return the last beat of the worker of `folder`, None when there is none."""
    try:
        return msgspec.json.decode((folder / BEAT_FILE).read_bytes(), type=Beat)
    except (OSError, msgspec.DecodeError):
        return None
