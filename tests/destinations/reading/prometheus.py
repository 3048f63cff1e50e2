"""Prometheus by its query interface."""

from __future__ import annotations

from typing import Any

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name, metric_name
from tests.collector.stack import Stack
from tests.destinations.facts import As, Held, spelled
from tests.destinations.program import UNUSUAL, VALUES


def read(stack: Stack, told: dict[str, Any]) -> Held:
    """Samples of the last hour with their labels."""

    def of(metric: str, run: str) -> list[dict[str, Any]]:
        return stack.samples(f'{metric_name(metric)}{{{label_name(v.RUN_ID)}="{run}"}}')

    (current,) = of(v.METRIC_STEP_INDEX, told["run"])
    steps = {time: int(value) for time, value in current["values"]}
    series = {entry["metric"][label_name(v.METRIC_NAME)]: entry for entry in of(v.METRIC_STEP_SCALAR, told["run"])}
    points = {(name, steps[time]): (value, time) for name, entry in series.items() for time, value in entry["values"]}
    labels = series["val/acc@4"]["metric"]
    kinds = {"cpu.utilization": v.METRIC_CPU_UTILIZATION, "memory.utilization": v.METRIC_MEMORY_UTILIZATION}
    return {
        "run.id": As(labels[label_name(v.RUN_ID)], "label"),
        "run.name": As(labels[label_name(v.RUN_NAME)], "label"),
        "metric.value": As({name: (3, float(points[name, 3][0])) for name in VALUES}, "step beside it"),
        "metric.late": (2, float(points["reward/mean", 2][0])),
        "metric.time": {name: round(points[name, 3][1] * 1000) * 1_000_000 for name in VALUES},
        "metric.unusual": {name: spelled(points[name, 3][0].replace("Inf", "Infinity")) for name in UNUSUAL},
        "metric.hosts": As(sorted(name for name, metric in kinds.items() if of(metric, told["demo"])), "`system_*`, `hw_*`"),
    }
