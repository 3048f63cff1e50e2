"""OTLP log records → `Log`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from opentelemetry.proto.common.v1.common_pb2 import AnyValue

from rollscope import vocabulary as v

from .groups import Group, Log
from .values import any_value, attributes, record_number

_LEGACY_EVENT_NAME = "event.name"
"""Attribute that carried the event name before OTLP 1.5 gave it a field."""


def add_logs(group: Group, scopes: Iterable[Any]) -> None:
    """Append the log records of all scopes (`ScopeLogs` of `schema`) to `group.logs`."""
    for scope in scopes:
        name = scope.scope.name
        group.logs += [_log(record, name) for record in scope.log_records[:]]


def _log(record: Any, scope: str) -> Log:
    found = attributes(record.attributes[:])
    sequence = found.pop(v.PRODUCER_SEQUENCE, 0)
    return Log(
        name=record.event_name or str(found.pop(_LEGACY_EVENT_NAME, "")),
        time=record.time_unix_nano or record.observed_time_unix_nano,
        severity=record.severity_number,
        body=_body(body) if (body := record.body) else "",
        trace_id=record.trace_id.hex(),
        span_id=record.span_id.hex(),
        attributes=found,
        scope=scope,
        sequence=record_number(sequence),
    )


def _body(encoded: bytes) -> str:
    value = AnyValue.FromString(encoded)
    if value.string_value:
        return value.string_value
    content = any_value(value)
    return "" if content is None or content == "" else msgspec.json.encode(content).decode()
