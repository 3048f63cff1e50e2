"""Counts trajectories of a step until its line is written."""

from __future__ import annotations

from collections import Counter

import msgspec

from ...records import Trajectory

_STEPS_KEPT = 64


class StepCount(msgspec.Struct):
    """What is known of the trajectories of one step and split."""

    outcomes: dict[str, int] = {}
    tool_calls: int = 0
    tool_errors: int = 0

    def add(self, trajectory: Trajectory) -> None:
        self.outcomes[trajectory.outcome] = self.outcomes.get(trajectory.outcome, 0) + 1
        tools = [span for span in trajectory.spans if span.is_tool_call]
        self.tool_calls += len(tools)
        self.tool_errors += sum(span.failed for span in tools)

    def summary(self) -> str:
        """Return `64 trajectories: 60 completed, 4 truncated · 5 of 130 tool calls failed`."""
        total = sum(self.outcomes.values())
        parts = ", ".join(f"{count} {outcome}" for outcome, count in Counter(self.outcomes).most_common())
        text = f"{total} {'trajectory' if total == 1 else 'trajectories'}: {parts}"
        return f"{text} · {self.tool_errors} of {self.tool_calls} tool calls failed" if self.tool_errors else text


class TrajectoryCounts:
    """Counts by run and step; the oldest steps are forgotten."""

    def __init__(self, state: dict[str, object] | None = None) -> None:
        self._steps = msgspec.convert(state or {}, dict[str, StepCount])

    def add(self, trajectory: Trajectory) -> None:
        self._steps.setdefault(_key(trajectory.run, trajectory.step), StepCount()).add(trajectory)
        while len(self._steps) > _STEPS_KEPT:
            self._steps.pop(next(iter(self._steps)))

    def take(self, run: str, step: int | None) -> StepCount | None:
        """Return the count of a step, once."""
        return self._steps.pop(_key(run, step), None)

    def checkpoint(self) -> dict[str, object]:
        return dict(msgspec.to_builtins(self._steps))


def _key(run: str, step: int | None) -> str:
    return f"{step}@{run}"
