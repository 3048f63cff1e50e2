"""What a worker must remember from one record to the next: open windows of metrics, the sample, who was left out.

There are two of it. One runs ahead with what is read; the other follows with what the position has passed, takes the very same records, and
is saved in the position file. A process that is killed goes on with that one, from the record after the position: nothing is
counted twice or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from ..records import Image, LateFacts, Record, RunFinished, RunStarted, StepMetrics, Trace, Trajectory
from ..sampling import Sampler
from ..settings import Metrics, TrajectoryOptions
from ._rules import Rules
from ._windows import Windows

EVERY_N_STEPS = "metrics.every_n_steps"
FACTS, SPANS, IMAGES = (f"{what} of trajectories left out" for what in ("late facts", "late spans", "images"))


class Ids(Protocol):
    """Where the ids of trajectories left out go to."""

    def add(self, id: str) -> None:
        """Remember `id`."""


class State(msgspec.Struct, array_like=True):
    """What is saved."""

    windows: Any = None
    sample: dict[str, Any] = {}


class Memory:
    """Takes records in order and says what is handed on of each."""

    def __init__(self, metrics: Metrics, trajectories: TrajectoryOptions, ids: Ids, state: bytes = b"") -> None:
        known = msgspec.msgpack.decode(state, type=State) if state else State()
        self._windows = Windows(metrics.every_n_steps, Rules(metrics.rules), known.windows)
        self._sampler = Sampler(trajectories.sample_rate, trajectories.per_step, frozenset(trajectories.keep), known.sample)
        self._ids = ids

    def concerns(self, record: Record) -> bool:
        """Whether `record` can change anything here."""
        if isinstance(record, Trajectory):
            return not self._sampler.keeps_all
        return isinstance(record, (StepMetrics, RunStarted, RunFinished)) and not self._windows.idle

    def take(self, record: Record) -> tuple[Sequence[Record], str]:
        """Return what is handed on, and why it is not `record` itself."""
        match record:
            case Trajectory():
                return self._trajectory(record)
            case StepMetrics() if not self._windows.idle:
                found = self._windows.add(record)
                return found, "" if any(one is record for one in found) else EVERY_N_STEPS
            case RunStarted() if not self._windows.idle:
                return [*self._windows.started(record), record], ""
            case RunFinished() if not self._windows.idle:
                return [*self._windows.finished(record), record], ""
        return [record], ""

    def state(self) -> bytes:
        """Return what a successor needs."""
        return msgspec.msgpack.encode(State(None if self._windows.idle else self._windows.state(), self._sampler.state()))

    def _trajectory(self, record: Trajectory) -> tuple[Sequence[Record], str]:
        reason = self._sampler.reason(record)
        if not reason:
            return [record], ""
        self._ids.add(record.id)
        return [], reason


def follows_one_left_out(record: Record, left_out: Any) -> str:
    """Return why a record that belongs to a trajectory is left out with it, empty when it is not; `left_out` holds ids."""
    if isinstance(record, LateFacts):
        return FACTS if record.trajectory in left_out else ""
    if isinstance(record, Trace):
        return SPANS if record.trace_id in left_out else ""
    return IMAGES if isinstance(record, Image) and record.trajectory and record.trajectory in left_out else ""
