"""OTLP spans → `records.Span`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Status

from rollscope import vocabulary as v

from ..records import Span
from .groups import Group
from .values import known_attributes, record_number, split_number

NEGATIVE = "span with its end before its start"
NO_IDS = "span without trace id or span id"
_NO_TRACE, _NO_SPAN = bytes(16), bytes(8)
"""Ids of zeros are none, by OTLP's word."""


def add_spans(group: Group, scopes: Iterable[Any]) -> None:
    """Append the spans of all scopes (`ScopeSpans` of `schema`) to `group.spans`."""
    for scope in scopes:
        name = scope.scope.name
        encoded, trace_id = b"", ""
        for span in scope.spans[:]:
            if span.trace_id != encoded:  # spans of a trace mostly come in a row
                encoded = span.trace_id
                trace_id = encoded.hex() if len(encoded) == 16 and encoded != _NO_TRACE else ""
            span_id = span.span_id
            if trace_id and len(span_id) == 8 and span_id != _NO_SPAN:
                group.spans.append(_span(group, span, trace_id, span_id.hex(), name))
            else:
                group.reject(NO_IDS)


def _span(group: Group, span: Any, trace_id: str, span_id: str, scope: str) -> tuple[int, Span]:
    encoded = span.attributes[:]
    number = split_number(encoded)
    found = known_attributes(encoded)
    if not number:
        number = record_number(found.pop(v.PRODUCER_SEQUENCE, 0))
    start, end = span.start_time_unix_nano, span.end_time_unix_nano
    if end < start:
        end = start
        group.repair(NEGATIVE)
    code, message = _status(status) if (status := span.status) else (0, "")
    events, links = span.events, span.links
    made = Span(
        trace_id=trace_id,
        span_id=span_id,
        parent_id=span.parent_span_id.hex() or None,
        name=span.name,
        kind=span.kind,
        start=start,
        end=end,
        status=code,
        message=message,
        attributes=found,
        events=[(e.time_unix_nano, e.name, known_attributes(e.attributes[:])) for e in events[:]] if events else [],
        links=[(link.trace_id.hex(), link.span_id.hex(), known_attributes(link.attributes[:])) for link in links[:]] if links else [],
        scope=scope,
    )
    return number, made


def _status(encoded: bytes) -> tuple[int, str]:
    status = Status.FromString(encoded)
    return status.code, status.message
