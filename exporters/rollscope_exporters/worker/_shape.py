"""What of a record is handed on to one backend: as `metrics`, `trajectories`, `artifacts` and `runs` of the configuration say for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from ..records import Artifact, Record, RunStarted, Trajectory
from ..settings import Artifacts, Runs, Settings, TrajectoryOptions
from ._caps import first_turns, within
from ._left_out import LeftOut
from ._memory import Memory, follows_one_left_out
from ._naming import named
from ._shorten import Shortener

MODELS = "artifacts.models"
_ANY_SIZE = 1 << 62


class Shaped(NamedTuple):
    """What becomes of one record."""

    records: Sequence[Record]
    """Handed on in its place: none, itself, or several."""
    reason: str = ""
    """Why it does not go as it is, empty where it does."""
    remembered: bool = False
    """Whether the memory behind has to take it too once the position has passed it."""


Shape = Callable[[Record, int], Shaped]
"""(record, encoded size) → what becomes of it."""


class Shaper:
    """Applies the configuration to the records of one backend, in order."""

    def __init__(self, settings: Settings, backend: str, ahead: Memory, left_out: LeftOut) -> None:
        """`ahead` runs ahead of the position."""
        self._trajectories = settings.trajectories_of(backend)
        self._artifacts, self._runs = settings.artifacts_of(backend), settings.runs
        self._shorten = Shortener(int(self._trajectories.max_bytes))
        self._ahead, self._left_out = ahead, left_out

    def __call__(self, record: Record, size: int) -> Shaped:
        reason = follows_one_left_out(record, self._left_out) or _left_where_it_is(record, self._artifacts)
        if reason:
            return Shaped([], reason)
        remembered = self._ahead.concerns(record)
        found, reason = self._ahead.take(record)
        return Shaped([self._formed(one, size if one is record else _ANY_SIZE) for one in found], reason, remembered)

    def _formed(self, record: Record, size: int) -> Record:
        if isinstance(record, Trajectory) and self._trajectories.max_turns:
            record = first_turns(record, self._trajectories.max_turns)
        elif isinstance(record, RunStarted):
            record = _named(record, self._runs)
        elif isinstance(record, Artifact):
            record = _wanted(record, self._artifacts)
        record = self._shorten(record, size)
        return _capped(record, self._trajectories, size) if isinstance(record, Trajectory) else record


def _named(record: RunStarted, runs: Runs) -> RunStarted:
    return named(record, runs) if runs.name or runs.tags else record


def _capped(record: Trajectory, options: TrajectoryOptions, size: int) -> Trajectory:
    limit = options.max_trajectory_bytes
    return record if limit is None or size <= int(limit) else within(record, int(limit))


def _left_where_it_is(record: Record, artifacts: Artifacts) -> str:
    return MODELS if isinstance(record, Artifact) and record.uid and artifacts.models == "off" else ""


def _wanted(record: Artifact, artifacts: Artifacts) -> Artifact:
    """Say of a checkpoint whether its files are to be uploaded."""
    if not record.uid:
        return record
    wanted = artifacts.models == "upload" and record.size <= int(artifacts.max_bytes)
    return msgspec.structs.replace(record, upload=wanted)
