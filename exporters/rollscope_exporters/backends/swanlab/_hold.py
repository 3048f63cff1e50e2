"""Keeps the values of a step for a moment: SwanLab takes one value of a key and step, and the last one said is the one to log."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from .._plain import word
from ._points import Point

_MOST = 2000
"""Values held; they are part of the position that is written with every batch."""


class Hold:
    """Values by step, oldest step first; `state` is what `checkpoint` returned last."""

    def __init__(self, seconds: float, state: Sequence[Sequence[Any]], now: float) -> None:
        self._seconds = seconds
        self._steps: dict[int, dict[str, Point]] = {}
        self._since: dict[int, float] = {}
        self.add((Point(key, step, time, float(value)) for key, step, time, value in state), now)

    def add(self, points: Iterable[Point], now: float) -> None:
        """Hold `points`; a later value of a key and step replaces the earlier one."""
        for point in points:
            self._steps.setdefault(point.step, {})[point.key] = point
            self._since.setdefault(point.step, now)

    def due(self, now: float) -> list[Point]:
        """Values that were held long enough, and the oldest ones where there are too many."""
        steps = [step for step, since in self._since.items() if now - since >= self._seconds]
        left = sum(map(len, self._steps.values())) - sum(len(self._steps[step]) for step in steps)
        for step in [step for step in self._since if step not in steps]:
            if left <= _MOST:
                break
            left -= len(self._steps[step])
            steps.append(step)
        return self._taken(steps)

    def rest(self) -> list[Point]:
        """Everything."""
        return self._taken(list(self._since))

    def copy(self) -> tuple[dict[int, dict[str, Point]], dict[int, float]]:
        """What `restore` returns to."""
        return {step: dict(points) for step, points in self._steps.items()}, dict(self._since)

    def restore(self, kept: tuple[dict[int, dict[str, Point]], dict[int, float]]) -> None:
        self._steps, self._since = kept

    def checkpoint(self) -> list[list[Any]]:
        """Everything, as JSON has it."""
        return [[point.key, point.step, point.time, _as_json(point.value)] for points in self._steps.values() for point in points.values()]

    def _taken(self, steps: Sequence[int]) -> list[Point]:
        points = [point for step in steps for point in self._steps.pop(step).values()]
        for step in steps:
            del self._since[step]
        return points


def _as_json(value: object) -> object:
    return word(value) if isinstance(value, float) and not math.isfinite(value) else value
