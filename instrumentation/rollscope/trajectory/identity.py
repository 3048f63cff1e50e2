"""Which trajectory: its coordinates, its trace id, and the attempt where the same coordinates come twice."""

from __future__ import annotations

import os
from collections import OrderedDict
from threading import RLock
from weakref import WeakKeyDictionary

import msgspec

from .. import vocabulary as v
from ..ids import trajectory_trace_id
from ..recorder import Recorder, report

__all__ = ["Coordinates", "claim"]

_REMEMBERED = 16_384
"""Trace ids of this process that are looked through for a repetition, the latest ones: 3 MB at most."""


class Coordinates(msgspec.Struct, frozen=True):
    """Where a trajectory stands in its run."""

    step: int | None
    group: str | None
    index: int | None
    attempt: int = 0
    split: str = "train"
    policy_version: int | None = None

    @property
    def derivable(self) -> bool:
        """Whether other processes can compute the same trace id."""
        return self.step is not None and self.group is not None and self.index is not None

    def trace_id(self, run: str) -> bytes:
        """Return the trace id that these coordinates have in `run`."""
        return trajectory_trace_id(run, step=self.step, group=self.group, index=self.index, attempt=self.attempt, split=self.split)

    def identity(self, id: str) -> dict[str, object]:
        """Return the attributes that every span of the trajectory carries."""
        found: dict[str, object] = {
            v.STEP_INDEX: self.step,
            v.SPLIT_NAME: self.split,
            v.POLICY_VERSION: self.policy_version,
            v.GROUP_ID: self.group,
            v.TRAJECTORY_INDEX: self.index,
            v.TRAJECTORY_ATTEMPT: self.attempt,
            v.TRAJECTORY_ID: id,
        }
        return {name: value for name, value in found.items() if value is not None} if None in found.values() else found


_claimed: WeakKeyDictionary[Recorder, OrderedDict[bytes, None]] = WeakKeyDictionary()
_lock = RLock()


def derived_run(recorder: Recorder) -> str:
    """Return the run's part of derived ids. A restarted run does some steps again: they are other trajectories than before."""
    run = recorder.identity.run
    return f"{run.id}/{run.attempt}" if run.attempt else run.id


def claim(recorder: Recorder, wanted: Coordinates) -> tuple[Coordinates, bytes | None]:
    """Return coordinates that no trajectory of this process has had, and their trace id; None where it is to be random.

    Coordinates that were taken get the next free attempt: two rollouts under one trace id could not be told apart.
    """
    if not wanted.derivable:
        return wanted, None
    run = derived_run(recorder)
    with _lock:
        claimed = _claimed.setdefault(recorder, OrderedDict())
        found, trace_id = wanted, wanted.trace_id(run)
        while trace_id in claimed:
            found = msgspec.structs.replace(found, attempt=found.attempt + 1)
            trace_id = found.trace_id(run)
        claimed[trace_id] = None
        if len(claimed) > _REMEMBERED:
            claimed.popitem(last=False)
    if found is not wanted:
        report("truncated", "repeated_trajectory", f"{wanted} was recorded before in this process; it became attempt {found.attempt}")
    return found, trace_id


def _after_fork() -> None:
    # Whoever held the lock is not in the child.
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_after_fork)
