"""Foreign OTLP metrics with our identity added, and the gauges that are derived from step metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Mapping

from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2

from ... import vocabulary as v
from ...records import Event
from ._wire import framed
from .item import RECORDS_FIELD, RESOURCE_FIELD
from .values import put_attributes

_MILLISECOND = 1_000_000
_MOST_SERIES = 100_000


def foreign_metrics(payload: bytes, resource: Mapping[str, object], sequence: int) -> bytes:
    """Return the framed `ResourceMetrics` of an encoded request as it came, under the producer's resource and its number.

    Resource attributes that are there already stay. Raises `DecodeError` when `payload` is no such request.
    """
    request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(payload)
    framed_messages = []
    for message in request.resource_metrics:
        there = {attribute.key for attribute in message.resource.attributes}
        put_attributes(message.resource.attributes, {key: value for key, value in resource.items() if key not in there})
        for scope in message.scope_metrics:
            put_attributes(scope.scope.attributes, {v.PRODUCER_SEQUENCE: sequence})
        framed_messages.append(framed(RESOURCE_FIELD, message.SerializeToString()))
    return b"".join(framed_messages)


class StepGauges:
    """Turns step metrics of one producer into gauge points whose times strictly increase per series.

    Prometheus keeps one sample per series and millisecond and silently ignores a second, hence the step of 1 ms.
    """

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], int] = {}

    def encode(self, record: Event) -> bytes:
        """Return the framed `Metric` messages of a `rl.step.metrics` event; empty when it holds no number."""
        values = record.attributes.get(v.METRICS)
        split = str(record.attributes.get(v.SPLIT_NAME) or "")
        numbers = {name: value for name, value in values.items() if isinstance(value, (int, float))} if isinstance(values, dict) else {}
        encoded = b""
        if numbers:
            metric = metrics_pb2.Metric(name=v.METRIC_STEP_SCALAR)
            for name, value in numbers.items():
                labels = {v.METRIC_NAME: name} | ({v.SPLIT_NAME: split} if split else {})
                self._put_point(metric, labels, self._next(name, split, record.time), value)
            encoded = framed(RECORDS_FIELD, metric.SerializeToString())
        step = record.attributes.get(v.STEP_INDEX)
        if numbers and isinstance(step, int):
            metric = metrics_pb2.Metric(name=v.METRIC_STEP_INDEX)
            self._put_point(metric, {v.SPLIT_NAME: split} if split else {}, self._next("", split, record.time), step)
            encoded += framed(RECORDS_FIELD, metric.SerializeToString())
        return encoded

    @staticmethod
    def _put_point(metric: metrics_pb2.Metric, labels: Mapping[str, object], time: int, value: int | float) -> None:
        point = metric.gauge.data_points.add()
        point.time_unix_nano = time
        # One series, one type: a scalar that is 1 at one step and 1.5 at the next stays a double throughout.
        try:
            point.as_double = value
        except OverflowError:
            point.as_double = float("inf") if value > 0 else float("-inf")
        put_attributes(point.attributes, labels)

    def _next(self, name: str, split: str, time: int) -> int:
        series = (name, split)
        time -= time % _MILLISECOND
        if len(self._last) >= _MOST_SERIES:
            self._last.clear()
        self._last[series] = time = max(time, self._last.get(series, 0) + _MILLISECOND)
        return time
