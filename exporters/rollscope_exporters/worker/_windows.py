"""One point of n steps: a window takes every value of its steps and becomes one record when it is full or the run ends.

A window belongs to one process (producer) of a run, so that ranks are not mixed. It is full when a step comes that lies `GRACE` steps
beyond it, from whichever process; what comes later still is a window of its own, which goes out at once, at its own step. Nothing is
counted twice and nothing is dropped. The windows are plain data: what is open when the process ends goes on in the next one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from ..records import RunFinished, RunStarted, Scalar, StepMetrics
from ..settings import Rule
from ._rules import Rules

GRACE = 2
"""Steps by which one process may be behind another, at most a window's length."""
_ENDED_RUNS = 500
"""Runs that are over and still known as such."""
_LARGEST = 1 << 63


class _Cell(msgspec.Struct, array_like=True):
    """A metric within a window."""

    value: Scalar
    count: int
    step: int
    time: int


class _Window(msgspec.Struct, array_like=True):
    run: str
    split: str
    producer: str
    end: int
    """First step beyond it."""
    full_at: int
    """Step whose coming closes it."""
    step: int
    time: int
    cells: dict[str, _Cell] = {}


class _Run(msgspec.Struct, array_like=True):
    highest: int | None = None
    """Highest step seen in the present attempt."""
    attempt: int = 0
    over: bool = False


class _State(msgspec.Struct, array_like=True):
    windows: dict[str, _Window] = {}
    runs: dict[str, _Run] = {}


class Windows:
    """Takes records in order; returns what is to be handed on in place of each."""

    def __init__(self, steps: int, rules: Rules, state: Any = None) -> None:
        """`steps`: length of a window. `state`: what `state` returned earlier, also with another length."""
        self._steps, self._rules = steps, rules
        self._state = msgspec.convert(state, _State) if state is not None else _State()

    def state(self) -> Any:
        """Return the open windows as plain data."""
        return msgspec.to_builtins(self._state)

    @property
    def idle(self) -> bool:
        """Whether every record is handed on as it is."""
        return self._steps == 1 and not self._state.windows

    def started(self, record: RunStarted) -> list[StepMetrics]:
        """A run begins, is announced again, or goes on in a new attempt: then steps may come a second time."""
        run = self._state.runs.get(record.run)
        if run is not None and run.attempt == record.attempt and not run.over:
            return []
        closed = list(self._closed(record.run, None))
        self._state.runs.pop(record.run, None)
        self._state.runs[record.run] = _Run(attempt=record.attempt)
        return closed

    def finished(self, record: RunFinished) -> list[StepMetrics]:
        """Return what is open of a run that ends."""
        closed = list(self._closed(record.run, None))
        self._run(record.run).over = True
        self._forget()
        return closed

    def add(self, record: StepMetrics) -> list[StepMetrics]:
        """Put `record` into its window. Returns the windows that it fills, and itself where it is in none."""
        if record.step is None or record.split not in ("", "train") or self._state.runs.get(record.run, _NEW).over:
            return [record]
        run = self._run(record.run)
        run.highest = record.step if run.highest is None else max(run.highest, record.step)
        if self._steps == 1:
            return [*self._closed(record.run, run.highest), record]
        self._put(record)
        return list(self._closed(record.run, run.highest))

    def _run(self, run: str) -> _Run:
        return self._state.runs.setdefault(run, _Run())

    def _put(self, record: StepMetrics) -> None:
        assert record.step is not None
        end = (record.step // self._steps + 1) * self._steps
        key = "\0".join((record.run, record.split, record.producer, str(end)))
        window = self._state.windows.get(key)
        if window is None:
            full_at = end + min(GRACE, self._steps) - 1
            window = _Window(record.run, record.split, record.producer, end, full_at, record.step, record.time)
            self._state.windows[key] = window
        if (record.step, record.time) > (window.step, window.time):
            window.step, window.time = record.step, record.time
        for name, value in record.values.items():
            self._count(window.cells, name, value, record.step, record.time)

    def _count(self, cells: dict[str, _Cell], name: str, value: Scalar, step: int, time: int) -> None:
        cell, rule = cells.get(name), self._rules(name)
        if cell is None:
            cells[name] = _Cell(value if isinstance(value, str) or rule not in ("mean", "sum") else _number(value), 1, step, time)
            return
        if isinstance(value, str) or isinstance(cell.value, str):
            _replace(cell, value, step, time)
        else:
            cell.value = _joined(rule, cell.value, value, later=(step, time) >= (cell.step, cell.time))
            cell.count += 1
        cell.step, cell.time = max((cell.step, cell.time), (step, time))

    def _closed(self, run: str, highest: int | None) -> Iterator[StepMetrics]:
        """Take out the windows of `run` that a step `highest` fills; all of them without one. Oldest steps first."""
        due = [
            (window.step, key)
            for key, window in self._state.windows.items()
            if window.run == run and (highest is None or highest >= window.full_at)
        ]
        for _, key in sorted(due):
            window = self._state.windows.pop(key)
            values = {name: self._value(name, cell) for name, cell in window.cells.items()}
            yield StepMetrics(run=run, time=window.time, step=window.step, values=values, split=window.split, producer=window.producer)

    def _value(self, name: str, cell: _Cell) -> Scalar:
        mean = self._rules(name) == "mean" and not isinstance(cell.value, str) and cell.count > 1
        return cell.value / cell.count if mean and not isinstance(cell.value, str) else cell.value

    def _forget(self) -> None:
        over = [name for name, run in self._state.runs.items() if run.over]
        for name in over[: max(len(over) - _ENDED_RUNS, 0)]:
            del self._state.runs[name]


_NEW = _Run()


def _replace(cell: _Cell, value: Scalar, step: int, time: int) -> None:
    """Text is not reckoned with, nor what stands beside it under the same name: the later one stands alone."""
    if (step, time) >= (cell.step, cell.time):
        cell.value, cell.count = value, 1


def _joined(rule: Rule, one: float, other: float, *, later: bool) -> float:
    """Value of a cell with one more, `other`, which may come from a later step or not."""
    if rule == "last":
        return other if later else one
    if rule in ("mean", "sum"):
        return _number(one + _number(other))
    if one != one or other != other:
        return math.nan
    return max(one, other) if rule == "max" else min(one, other)


def _number(value: float) -> float:
    """`value` as something to add to: whole numbers stay whole while they fit into 64 bits."""
    if isinstance(value, bool):
        return int(value)
    return float(value) if isinstance(value, int) and not -_LARGEST <= value < _LARGEST else value
