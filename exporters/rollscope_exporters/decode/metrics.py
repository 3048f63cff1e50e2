"""OTLP metrics → `Point`: every kind reduced to numbers a tracker can draw."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opentelemetry.proto.metrics.v1.metrics_pb2 import DataPointFlags

from rollscope import vocabulary as v

from .groups import Group, Point
from .values import known_attributes, record_number

_NOTHING = DataPointFlags.DATA_POINT_FLAGS_NO_RECORDED_VALUE_MASK


def add_points(group: Group, scopes: Iterable[Any]) -> None:
    """Append the points of all scopes (`ScopeMetrics` of `schema`) to `group.points` and their record numbers to `group.numbers`.

    One record may have come as several scopes, all with its number.
    """
    for scope in scopes:
        number = record_number(known_attributes(scope.scope.attributes).get(v.PRODUCER_SEQUENCE))
        if number and number not in group.numbers:
            group.numbers.append(number)
        for metric in scope.metrics:
            group.points.extend(_points(metric, scope.scope.name))


def _points(metric: Any, scope: str) -> Iterator[Point]:
    kind = metric.WhichOneof("data")
    if kind is None:
        return
    for point in getattr(metric, kind).data_points:
        if not point.flags & _NOTHING:
            yield Point(metric.name, point.time_unix_nano, known_attributes(point.attributes[:]), _VALUES[kind](point), scope)


def _number(point: Any) -> dict[str, int | float]:
    return {"": point.as_int if point.WhichOneof("value") == "as_int" else point.as_double}


def _histogram(point: Any) -> dict[str, int | float]:
    values: dict[str, int | float] = {"count": point.count}
    for name in ("sum", "min", "max"):
        if point.HasField(name):
            values[name] = getattr(point, name)
    if point.count and "sum" in values:
        values["avg"] = values["sum"] / point.count
    return values


def _summary(point: Any) -> dict[str, int | float]:
    values: dict[str, int | float] = {"count": point.count, "sum": point.sum}
    if point.count:
        values["avg"] = point.sum / point.count
    for quantile in point.quantile_values:
        values[f"p{quantile.quantile * 100:g}"] = quantile.value
    return values


_VALUES: dict[str, Callable[[Any], dict[str, int | float]]] = {
    "gauge": _number,
    "sum": _number,
    "histogram": _histogram,
    "exponential_histogram": _histogram,
    "summary": _summary,
}
