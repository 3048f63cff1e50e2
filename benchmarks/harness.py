"""Time several contenders against each other, so that the machine's moods fall on all of them alike."""

from __future__ import annotations

import contextlib
import gc
import itertools
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

COUNT = "BENCHMARKS_COUNT"
"""Environment variable that says how many steps and trajectories the row `backends` logs."""

Operation = Callable[[], object]
"""Does the work once."""


@dataclass(frozen=True)
class Contender:
    """One way to do the work. `open` sets it up and yields the operation, or raises `Absent` when it cannot run here."""

    name: str
    open: Callable[[], AbstractContextManager[Operation]]
    times: int
    """Operations per round."""
    settle: Callable[[], object] = bool
    """Called after each round, untimed: lets the contender finish what it put off."""


class Absent(Exception):
    """When a peer is not installed; says how to get it."""


@dataclass
class Outcome:
    """What a row found out."""

    measured: dict[str, dict[str, float]] = field(default_factory=dict)
    """Contender → what was measured, with units in the names."""
    ratios: dict[str, float] = field(default_factory=dict)
    """Ours divided by a peer, or a peer by ours, as the name says."""
    passed: bool | None = None
    """Whether the bar was kept; None where the row has none."""
    notes: list[str] = field(default_factory=list)


class Row(Protocol):
    """One row of the table: a module of this package."""

    NAME: str
    WORKLOAD: str
    BAR: str

    def run(self, *, quick: bool) -> Outcome:
        """Measure."""


class Took(NamedTuple):
    """One round: µs an operation."""

    wall: float
    cpu: float
    """Of the calling thread: what is left when others take the machine, and when the call waits."""


Times = dict[str, list[Took]]
_BUSY = 1.25
"""Clock over processor time from which on a figure says more of the machine than of the call."""


def compare(contenders: list[Contender], rounds: int) -> tuple[Times, list[str]]:
    """Time all contenders in turn, `rounds` times, after one round to warm up; returns also who is absent.

    Many short rounds are better than few long ones: the median then falls on one that nobody interrupted.
    """
    times: Times = {}
    notes: list[str] = []
    with contextlib.ExitStack() as stack:
        ready: list[tuple[Contender, Operation]] = []
        for contender in contenders:
            try:
                ready.append((contender, stack.enter_context(contender.open())))
            except Absent as absent:
                notes.append(f"{contender.name}: {absent}")
        for number in range(rounds + 1):
            for contender, operation in ready:
                took = _time(operation, contender.times)
                contender.settle()
                if number:
                    times.setdefault(contender.name, []).append(took)
    return times, notes


def _time(operation: Operation, times: int) -> Took:
    gc.collect()
    repeat = itertools.repeat(None, times)
    begin, begin_cpu = time.perf_counter(), time.thread_time()
    for _ in repeat:
        operation()
    end_cpu, end = time.thread_time(), time.perf_counter()
    return Took((end - begin) / times * 1e6, (end_cpu - begin_cpu) / times * 1e6)


def summary(times: Times) -> dict[str, dict[str, float]]:
    """Median of each contender, wall clock and processor time of the caller, and its best round."""
    return {
        name: {
            "median_us": statistics.median(took.wall for took in each),
            "cpu_us": statistics.median(took.cpu for took in each),
            "best_us": min(took.wall for took in each),
        }
        for name, each in times.items()
    }


def judged(times: list[Took]) -> tuple[float, list[str]]:
    """What is held against a bar, µs: the median round by the clock, for a program loses the time that a call takes, whatever it waits for.

    A note says so where the processor worked for far less of it: others had the machine, and a quiet one would tell more.
    """
    wall, cpu = (statistics.median(values) for values in zip(*times, strict=True))
    busy = f"clock {wall:.3g} µs, processor {cpu:.3g} µs a call: others had the machine, or the call waited; judged by the clock"
    return wall, [busy] if wall > _BUSY * cpu else []


def paired_ratio(first: list[Took], second: list[Took]) -> float:
    """Median over the rounds of the ratio within a round by the clock: both ran one after the other, in the same mood of the machine."""
    return statistics.median(one.wall / other.wall for one, other in zip(first, second, strict=True))


@contextlib.contextmanager
def plain(operation: Operation) -> Iterator[Operation]:
    """A contender that needs no setting up."""
    yield operation
