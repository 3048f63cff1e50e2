"""Scalars of a step: one record holds them all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import index
from typing import Any

from . import vocabulary as v
from .recorder import Recorder, current, report, swallow
from .records import PRIORITY_RUN
from .scalars import NotScalarError, number
from .step_point import current_step

__all__ = ["log", "record_metrics", "whole"]

_PLAIN = frozenset({float, int, bool, str})
_SEPARATOR = "/"
_DEPTH = 16


def log(metrics: Mapping[str, object], step: int | None = None, *, split: str | None = None) -> None:
    """Record scalars of one step: one record, first in every queue, never sampled. Any process, any time, any order of steps.

    metrics: name → number, bool or string; maps in it are flattened with `/`, numpy and CPU torch scalars become numbers, NaN and Inf
    stay. What is no scalar, a tensor on a device among it, is left out and counted. step: the current step unless given.
    split: `validation` or the like, for scalars that are not of training.
    """
    recorder = current()
    if recorder is None:
        return
    try:
        if step is None:
            point = current_step()
            step = None if point is None else point.index
        record_metrics(recorder, metrics, step, split)
    except Exception as error:  # noqa: BLE001  # the gate of this call
        swallow(error, "log")


def record_metrics(recorder: Recorder, metrics: Mapping[str, object], step: int | None, split: str | None) -> None:
    """Write the record of `log`. A map of plain scalars is written as it is."""
    attributes: dict[str, Any] = {v.METRICS: metrics if _is_plain(metrics) else dict(_flat(metrics, "", 0))}
    if step is not None:
        attributes[v.STEP_INDEX] = step if type(step) is int else whole(step)
    if split is not None:
        attributes[v.SPLIT_NAME] = split
    recorder.event(v.EVENT_STEP_METRICS, attributes, priority=PRIORITY_RUN)


def _is_plain(metrics: Mapping[Any, object]) -> bool:
    if type(metrics) is not dict:
        return False
    try:
        "".join(metrics)  # half the price of looking at each name's type
    except TypeError:
        return False
    types = list(map(type, metrics.values()))
    # Mostly all are floats, and to count those costs less than to look up the type of each.
    return types.count(float) == len(types) or _PLAIN.issuperset(types)


def whole(value: Any) -> int:
    """Return a step or version as an int; numpy integers and whole floats are taken. Raises `ValueError` or `TypeError`."""
    try:
        return index(value)
    except TypeError:
        if (number := int(value)) == value:
            return number
        raise ValueError(f"{value!r} is no whole number") from None


def _flat(metrics: Mapping[Any, object], prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    for name, value in metrics.items():
        path = f"{prefix}{name}"
        if type(value) in _PLAIN:
            yield path, value
            continue
        if isinstance(value, Mapping) and depth < _DEPTH:
            yield from _flat(value, path + _SEPARATOR, depth + 1)
            continue
        try:
            yield path, number(value)
        except NotScalarError as error:
            report("truncated", "not_scalar", f"metric {path!r} was left out: {error}")
