"""Scalars of a step as MLflow points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...records import StepMetrics
from .._names import encode_name, mlflow_character

_LARGEST_STEP = (1 << 63) - 1
_LARGEST = 1.7976931348623157e308


class Point(NamedTuple):
    key: str
    """As MLflow spells it."""
    name: str
    """As recorded."""
    value: float
    timestamp: int
    """Unix time, ms."""
    step: int


def points(record: StepMetrics) -> Iterator[Point]:
    """Yield numbers and bools of `record`. NaN stays; MLflow itself keeps infinities as ±1.797e308. Without a step it is 0: MLflow
    then orders by time."""
    step = max(-1, min(record.step or 0, _LARGEST_STEP))
    timestamp = max(record.time, 0) // 1_000_000
    for name, value in record.values.items():
        if not isinstance(value, str):
            full = metric_name(name, record.split)
            yield Point(spelled(full), full, _as_float(value), timestamp, step)


def texts(record: StepMetrics) -> dict[str, str]:
    """Return strings of `record`, which MLflow has no series for: they become tags of the run, the last value standing."""
    return {metric_name(name, record.split): value for name, value in record.values.items() if isinstance(value, str)}


def metric_name(name: str, split: str) -> str:
    """Return `name` under its split, unless it is the training split or says so already."""
    return name if split in {"", "train"} or name.startswith(f"{split}/") else f"{split}/{name}"


def spelled(name: str) -> str:
    """Return `name` in the characters MLflow takes, at most 250."""
    return encode_name(name, mlflow_character)


def _as_float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return _LARGEST if value > 0 else -_LARGEST
