"""Requests of programs that know nothing of rollscope, as the OpenTelemetry SDK would send them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from .wire import Request


def any_value(value: object) -> AnyValue:
    """A Python value as OTLP has it."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value)
    if isinstance(value, float):
        return AnyValue(double_value=value)
    if isinstance(value, bytes):
        return AnyValue(bytes_value=value)
    if isinstance(value, list):
        found = AnyValue()
        found.array_value.values.extend(any_value(item) for item in value)
        return found
    if isinstance(value, dict):
        found = AnyValue()
        found.kvlist_value.values.extend(key_values(value))
        return found
    return AnyValue() if value is None else AnyValue(string_value=str(value))


def key_values(attributes: Mapping[str, object]) -> list[KeyValue]:
    """Attributes as OTLP has them."""
    return [KeyValue(key=key, value=any_value(value)) for key, value in attributes.items()]


def resource(service: str, instance: str = "", **more: object) -> Resource:
    """A service's resource."""
    attributes = {"service.name": service, **({"service.instance.id": instance} if instance else {}), **more}
    return Resource(attributes=key_values(attributes))


def gauge_request(
    service: str, values: Mapping[str, float], *, time: int, instance: str = "", attributes: Mapping[str, object] | None = None
) -> Request:
    """Gauges of one moment."""
    request = ExportMetricsServiceRequest()
    group = request.resource_metrics.add(resource=resource(service, instance))
    scope = group.scope_metrics.add()
    for name, value in values.items():
        point = scope.metrics.add(name=name).gauge.data_points.add(time_unix_nano=time, as_double=value)
        point.attributes.extend(key_values(attributes or {}))
    return "metrics", request.SerializeToString()


def span_request(
    service: str,
    spans: Sequence[tuple[str, str | None]],
    *,
    trace: str = "trace",
    attributes: Mapping[str, Mapping[str, object]] | None = None,
) -> Request:
    """Spans (name, name of the parent) of one trace; names are unique within it."""
    request = ExportTraceServiceRequest()
    scope = request.resource_spans.add(resource=resource(service)).scope_spans.add()
    scope.scope.name = "program"
    for n, (name, parent) in enumerate(spans):
        span = scope.spans.add(name=name, trace_id=_id(trace, 16), span_id=_id(trace + name, 8), kind=1)
        span.start_time_unix_nano, span.end_time_unix_nano = 1000 + n, 2000 + n
        if parent is not None:
            span.parent_span_id = _id(trace + parent, 8)
        span.attributes.extend(key_values((attributes or {}).get(name, {})))
    return "traces", request.SerializeToString()


def log_request(service: str, lines: Sequence[str], *, time: int = 1000, name: str = "") -> Request:
    """Log lines of one moment."""
    request = ExportLogsServiceRequest()
    scope = request.resource_logs.add(resource=resource(service)).scope_logs.add()
    for line in lines:
        record = scope.log_records.add(time_unix_nano=time, severity_number=9, event_name=name)
        record.body.string_value = line
    return "logs", request.SerializeToString()


def _id(text: str, size: int) -> bytes:
    return hashlib.sha256(text.encode()).digest()[:size]
