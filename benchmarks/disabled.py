"""`@traced` when nothing records."""

from __future__ import annotations

import statistics

import rollscope as rs
from rollscope.recorder import session

from .harness import Contender, Outcome, compare, plain, summary

NAME = "disabled"
WORKLOAD = "A function of no arguments that returns a constant, bare and under `@traced` without a run; the loop around both is the same."
BAR = "traced - bare <= 0.2 µs"


def _bare() -> int:
    return 1


_traced = rs.traced(_bare)


def run(*, quick: bool) -> Outcome:
    """Compare."""
    state = session.snapshot()
    session.use(None)
    try:
        times = 20_000
        contenders = [Contender("bare", lambda: plain(_bare), times), Contender("traced, no run", lambda: plain(_traced), times)]
        measured, notes = compare(contenders, 5 if quick else 60)
    finally:
        session.restore(state)
    found = summary(measured)
    over = statistics.median(traced.wall - bare.wall for traced, bare in zip(measured["traced, no run"], measured["bare"], strict=True))
    return Outcome({**found, "traced - bare": {"median_us": over}}, {}, over <= 0.2, notes)
