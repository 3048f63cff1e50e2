"""`Event` and `Tokens` → OTLP log record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.logs.v1 import logs_pb2

from ... import vocabulary as v
from ...records import Event
from .values import put_attributes


def event(record: Event, producer: str, sequence: int) -> bytes:
    """Return the encoded `LogRecord` of an event or a plain log line."""
    attributes = dict(record.attributes) | numbered(producer, sequence)
    return log_record(
        record.name,
        record.time,
        attributes,
        trace_id=record.trace_id,
        span_id=record.span_id,
        body=record.body,
        severity=record.severity,
    )


def numbered(producer: str, sequence: int) -> dict[str, object]:
    """Return attributes that number a log record within its producer; none for one that is not counted."""
    return {v.PRODUCER_SEQUENCE: sequence, v.LOG_RECORD_UID: f"{producer}-{sequence}"} if sequence else {}


def log_record(
    name: str,
    time: int,
    attributes: Mapping[str, object],
    *,
    trace_id: bytes | None = None,
    span_id: bytes | None = None,
    body: str | None = None,
    severity: int = 9,
) -> bytes:
    """Return the encoded `LogRecord`; `time` is Unix time in ns, `severity` an OTLP severity number."""
    message: Any = logs_pb2.LogRecord()
    message.time_unix_nano = message.observed_time_unix_nano = time
    message.severity_number = severity
    if name:
        message.event_name = name
    if body is not None:
        message.body.string_value = body
    if trace_id:
        message.trace_id = trace_id
    if span_id:
        message.span_id = span_id
    put_attributes(message.attributes, attributes)
    data: bytes = message.SerializeToString()
    return data
