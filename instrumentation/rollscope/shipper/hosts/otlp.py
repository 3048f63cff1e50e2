"""Readings → OTLP, once for each run that is live on the node."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.resource.v1 import resource_pb2

from ... import vocabulary as v
from ..otlp import Item, framed
from ..otlp.item import RECORDS_FIELD, RESOURCE_FIELD, SCOPE_FIELD
from ..otlp.values import put_attributes
from .reading import Reading

SCOPE = "rollscope.hosts"
_OF_RUN = (v.SERVICE_NAME, v.HOST_NAME, v.RUN_ID, v.RUN_NAME, v.PROJECT_NAME, v.RUN_ATTEMPT)
_STARTED = time.time_ns()
_scope = framed(SCOPE_FIELD, common_pb2.InstrumentationScope(name=SCOPE).SerializeToString())


def host_items(resources: Iterable[Mapping[str, object]], now: int, readings: Sequence[Reading]) -> list[Item]:
    """One item a run; `resources` are those of the live producers, `now` is Unix time in ns."""
    runs = {resource.get(v.RUN_ID): resource for resource in resources if resource.get(v.RUN_ID)}
    data = b"".join(framed(RECORDS_FIELD, metric.SerializeToString()) for metric in _metrics(now, readings)) if runs else b""
    return [Item("metrics", _resource(resource), _scope, data, "host metrics", derived=True) for resource in runs.values()]


def _resource(of_producer: Mapping[str, object]) -> bytes:
    attributes = {name: of_producer[name] for name in _OF_RUN if name in of_producer}
    attributes[v.SERVICE_INSTANCE_ID] = attributes.get(v.HOST_NAME, "")
    message = resource_pb2.Resource()
    put_attributes(message.attributes, attributes)
    return framed(RESOURCE_FIELD, message.SerializeToString())


def _metrics(now: int, readings: Sequence[Reading]) -> Iterable[metrics_pb2.Metric]:
    metrics: dict[str, metrics_pb2.Metric] = {}
    for reading in readings:
        entry = v.REGISTRY["metric", reading.name]
        metric = metrics.setdefault(reading.name, metrics_pb2.Metric(name=reading.name, unit=entry.unit))
        if entry.type == "gauge":
            point = metric.gauge.data_points.add(time_unix_nano=now, as_double=reading.value)
        else:
            metric.sum.is_monotonic = entry.type == "counter"
            metric.sum.aggregation_temporality = metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
            point = metric.sum.data_points.add(time_unix_nano=now, start_time_unix_nano=_STARTED, as_int=int(reading.value))
        put_attributes(point.attributes, reading.attributes)
    return metrics.values()
