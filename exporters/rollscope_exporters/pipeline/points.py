"""Metric points of programs without our recorder → step metrics.

One record for all points of one moment and step. A step is taken from an attribute (`rl.step.index`, `step`, `global_step`); the
other attributes are part of the name, `name/key:value`, and so is what a histogram is reduced to, `name/avg`. Characters that
trackers refuse are their backends' affair.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollscope import vocabulary as v

from ..decode import Point, integer
from ..records import Scalar, StepMetrics

STEP_ATTRIBUTES = (v.STEP_INDEX, "step", "global_step")


def step_metrics(run: str, producer: str, points: Iterable[Point]) -> list[StepMetrics]:
    """Return the points as step metrics, in order of time and step."""
    found: dict[tuple[int, int | None, str], dict[str, Scalar]] = {}
    for point in points:
        step = _step(point.attributes)
        split = str(point.attributes.get(v.SPLIT_NAME, ""))
        values = found.setdefault((point.time, step, split), {})
        name = series_name(point.name, point.attributes)
        for suffix, value in point.values.items():
            values[f"{name}/{suffix}" if suffix else name] = value
    keys = sorted(found, key=lambda key: (key[0], -1 if key[1] is None else key[1], key[2]))
    return [
        StepMetrics(run=run, time=time, step=step, values=found[time, step, split], split=split, producer=producer)
        for time, step, split in keys
    ]


def series_name(name: str, attributes: Mapping[str, object]) -> str:
    """Return `name`, followed by what tells the series apart."""
    parts = [f"{key}:{value}" for key, value in sorted(attributes.items()) if key not in STEP_ATTRIBUTES and key != v.SPLIT_NAME]
    return "/".join([name, *parts])


def _step(attributes: Mapping[str, object]) -> int | None:
    return next((step for name in STEP_ATTRIBUTES if (step := integer(attributes.get(name))) is not None), None)
