"""`log` of 300 scalars."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import rollscope as rs

from . import trackers
from .harness import Contender, Operation, Outcome, compare, judged, paired_ratio, summary
from .recording import recording, scratch

NAME = "log"
WORKLOAD = (
    "One training step's 300 scalars, floats under names such as actor/metric_17, a new step at each call. The trackers are called "
    "directly, as a trainer would: mlflow.log_metrics (SQLite), wandb run.log (offline), swanlab.log (offline), TensorBoard's event writer "
    "(one event a scalar). Time is the caller's; what a tracker puts off to its own threads and processes is not counted against it."
)
BAR = "ours <= 30 µs"
OURS = "rollscope log, durable"
SCALARS = {f"{part}/metric_{n}": 0.125 * n for part in ("actor", "critic", "response_length", "timing", "reward") for n in range(60)}


@contextlib.contextmanager
def _ours() -> Iterator[Operation]:
    steps = itertools.count()
    with scratch() as folder, recording(folder):
        yield lambda: rs.log(SCALARS, step=next(steps))


def run(*, quick: bool) -> Outcome:
    """Compare."""
    contenders = [Contender(OURS, _ours, 20 if quick else 300), *trackers.contenders(SCALARS, quick=quick)]
    measured, notes = compare(contenders, 2 if quick else 15)
    ours = measured[OURS]
    found = summary(measured)
    ratios = {f"{name} / {OURS}": paired_ratio(each, ours) for name, each in measured.items() if name != OURS}
    cost, busy = judged(ours)
    return Outcome(found, ratios, cost <= 30, notes + busy)
