"""A producer's heartbeat once more as metrics, for Prometheus: what it wrote and lost, what is open, what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opentelemetry.proto.metrics.v1 import metrics_pb2

from ... import vocabulary as v
from ._wire import framed
from .heartbeat import OpenSpan
from .item import RECORDS_FIELD
from .values import put_attributes


def telemetry(
    now: int, records: int, dropped: Mapping[str, int], open_spans: Sequence[OpenSpan], waiting: int, *, final: bool = False
) -> bytes:
    """Return the framed `Metric` messages at `now` (the node's clock, Unix time in ns); `waiting` are bytes of journal.

    The delay is 0 here: a gateway puts in how much later than `now` its own clock is.
    """
    oldest = min((span.start for span in open_spans), default=now)
    metrics = [
        _counter(v.METRIC_RECORDS, now, {"": records}),
        _gauge(v.METRIC_SPOOL, now, waiting),
        _gauge(v.METRIC_OPEN_SPANS, now, len(open_spans)),
        _gauge(v.METRIC_OPEN_AGE, now, max(0, now - oldest) / 1e9),
        _gauge(v.METRIC_DELAY, now, 0.0),
        _gauge(v.METRIC_ALIVE, now, 0.0 if final else 1.0),
    ]
    if dropped:
        metrics.append(_counter(v.METRIC_DROPPED, now, dropped))
    return b"".join(framed(RECORDS_FIELD, metric.SerializeToString()) for metric in metrics)


def _gauge(name: str, now: int, value: float) -> metrics_pb2.Metric:
    metric = metrics_pb2.Metric(name=name, unit=v.REGISTRY["metric", name].unit)
    metric.gauge.data_points.add(time_unix_nano=now, as_double=value)
    return metric


def _counter(name: str, now: int, counts: Mapping[str, int]) -> metrics_pb2.Metric:
    """Return a sum with one point for each reason, none named where the reason is empty."""
    metric = metrics_pb2.Metric(name=name, unit=v.REGISTRY["metric", name].unit)
    metric.sum.is_monotonic = True
    metric.sum.aggregation_temporality = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
    for reason, count in counts.items():
        point = metric.sum.data_points.add(time_unix_nano=now, as_int=count)
        put_attributes(point.attributes, {v.LOSS_REASON: reason} if reason else {})
    return metric
