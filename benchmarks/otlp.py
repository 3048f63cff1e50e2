"""OTLP requests as the shipper sends them: trajectories of ten spans with ten attributes each."""

from __future__ import annotations

import itertools

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from rollscope import vocabulary as v

from .recording import SPAN_ATTRIBUTES

SPANS = 10
"""Of one trajectory: root, then turns with their model and tool calls."""
_START = 1_780_000_000_000_000_000


def request(number: int, trajectories: int, producer: str = "00c0ffee00c0ffee") -> bytes:
    """Encode request `number` of a producer: `trajectories` whole ones."""
    message = ExportTraceServiceRequest()
    group = message.resource_spans.add()
    group.resource.attributes.extend([_pair(v.RUN_ID, "bench"), _pair(v.PRODUCER_ID, producer), _pair("service.name", "bench")])
    scope = group.scope_spans.add()
    scope.scope.name = "rollscope"
    sequences = itertools.count(number * trajectories * SPANS + 1)
    for trajectory in range(number * trajectories, (number + 1) * trajectories):
        trace = (trajectory + 1).to_bytes(16, "big")
        # A root ends last, and is sent last.
        scope.spans.extend(_span(trace, n, next(sequences)) for n in range(SPANS, 0, -1))
    return message.SerializeToString()


def _span(trace: bytes, number: int, sequence: int) -> Span:
    root = number == 1
    span = Span(
        trace_id=trace,
        span_id=trace[8:12] + number.to_bytes(4, "big"),
        parent_span_id=b"" if root else trace[8:12] + (1).to_bytes(4, "big"),
        name="invoke_agent airline" if root else "execute_tool get_reservation_details",
        kind=Span.SpanKind.SPAN_KIND_INTERNAL,
        start_time_unix_nano=_START + number,
        end_time_unix_nano=_START + number + 1_000_000,
    )
    span.attributes.extend(_pair(name, value) for name, value in SPAN_ATTRIBUTES.items())
    span.attributes.append(_pair(v.PRODUCER_SEQUENCE, sequence))
    if root:
        span.attributes.extend([_pair(v.TRAJECTORY_ID, trace.hex()), _pair(v.TRAJECTORY_RECORD_COUNT, SPANS)])
    return span


def _pair(name: str, value: str | bool | int | float) -> KeyValue:
    found = AnyValue()
    setattr(found, {str: "string_value", bool: "bool_value", int: "int_value", float: "double_value"}[type(value)], value)
    return KeyValue(key=name, value=found)
