"""Which trajectories a destination gets: whole groups by a hash, with errors and extremes on top.

A group is in the sample when the hash of (run, step, group) is small enough for the share, so every process and every restart
agrees without having spoken. With a number a step, the share is what earlier steps needed to stay within it, so that the sample
does not prefer the fast groups. A decision depends only on the records before it and on the state: repeated, it is the same.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Mapping
from typing import Literal, TypeAlias

import msgspec

from .records import Trajectory

Notable: TypeAlias = Literal["errors", "extremes"]
ALL: frozenset[Notable] = frozenset({"errors", "extremes"})

SAMPLE_RATE = "trajectories.sample_rate"
PER_STEP = "trajectories.per_step"
_STEPS_KEPT = 32
_ERROR = 2


class _Step(msgspec.Struct, omit_defaults=True):
    share: float
    seen: int = 0
    kept: int = 0
    groups: list[str] = []
    low: float | None = None
    high: float | None = None


class Sampler:
    """Takes trajectories in order and says which to leave out.

    `rate`: share of the groups. `per_step`: trajectories of one step and split, about; None for any number. `keep`: what is kept
    besides, up to `per_step` once more. `state`: what `state` returned earlier.
    """

    def __init__(
        self, rate: float = 1.0, per_step: int | None = None, keep: Collection[Notable] = ALL, state: Mapping[str, object] | None = None
    ) -> None:
        self._rate, self._per_step, self._keep = rate, per_step, keep
        self._steps = msgspec.convert(dict(state or {}), dict[str, _Step], strict=False)

    @property
    def keeps_all(self) -> bool:
        """Whether nothing is ever left out."""
        return self._rate >= 1 and self._per_step is None

    def reason(self, trajectory: Trajectory) -> str:
        """Return why `trajectory` is left out, empty when it is kept. Each trajectory counts once: ask once."""
        if self.keeps_all:
            return ""
        if trajectory.step is None:
            return "" if _share_of_group(trajectory) < self._rate or self._is_error(trajectory) else SAMPLE_RATE
        step = self._step(trajectory)
        step.seen += 1
        extreme = _widens(step, trajectory.reward) and "extremes" in self._keep
        reason = self._not_in_sample(trajectory, step)
        if reason and (extreme or self._is_error(trajectory)) and (self._per_step is None or step.kept < 2 * self._per_step):
            reason = ""
        step.kept += not reason
        return reason

    def state(self) -> dict[str, object]:
        """Return what a successor needs, JSON-compatible."""
        return dict(msgspec.to_builtins(self._steps))

    def _is_error(self, trajectory: Trajectory) -> bool:
        return "errors" in self._keep and is_error(trajectory)

    def _not_in_sample(self, trajectory: Trajectory, step: _Step) -> str:
        share = _share_of_group(trajectory)
        if share >= self._rate:
            return SAMPLE_RATE
        if self._per_step is None:
            return ""
        group = _hash(trajectory.run, trajectory.step, _group(trajectory))[:10]
        if group in step.groups:
            return ""
        if step.kept >= self._per_step or share >= step.share:
            return PER_STEP
        step.groups.append(group)
        return ""

    def _step(self, trajectory: Trajectory) -> _Step:
        series = _hash(trajectory.run, trajectory.split)[:16]
        key = f"{series}:{trajectory.step}"
        if key not in self._steps:
            self._steps[key] = _Step(self._next_share(series))
            while len(self._steps) > _STEPS_KEPT:
                self._steps.pop(next(iter(self._steps)))
        return self._steps[key]

    def _next_share(self, series: str) -> float:
        if self._per_step is None:
            return 1.0
        largest = max((step.seen for name, step in self._steps.items() if name.startswith(series)), default=0)
        return min(1.0, self._per_step / largest) if largest else 1.0


def is_error(trajectory: Trajectory) -> bool:
    """Say whether something went wrong: an outcome other than `completed`, or a span in error, a tool's among them."""
    return trajectory.outcome != "completed" or any(span.status == _ERROR for span in trajectory.spans)


def _widens(step: _Step, reward: float | None) -> bool:
    """Return whether `reward` is the best or the worst the step has seen so far, so that those of the whole step are among them."""
    if reward is None or not math.isfinite(reward):
        return False
    extreme = step.low is None or step.high is None or reward < step.low or reward > step.high
    step.low = reward if step.low is None else min(step.low, reward)
    step.high = reward if step.high is None else max(step.high, reward)
    return extreme


def _share_of_group(trajectory: Trajectory) -> float:
    """Return where the group lies in [0, 1)."""
    return int(_hash(trajectory.run, trajectory.step, _group(trajectory))[:13], 16) / (1 << 52)


def _group(trajectory: Trajectory) -> str:
    return trajectory.id if trajectory.group is None else trajectory.group


def _hash(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode("utf-8", "surrogatepass")).hexdigest()
