"""Redacting the records of a journal."""

from __future__ import annotations

from typing import TypeVar, cast

import msgspec
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2

from ..records import Event, Otlp, Record, SpanEnd, SpanStart, Tokens
from ._content import content
from ._redactor import Redactor
from ._wire import redact_message

AnySpan = TypeVar("AnySpan", SpanStart, SpanEnd)
AnyRecord = TypeVar("AnyRecord", bound=Record | SpanStart)


def record(redactor: Redactor, found: AnyRecord) -> AnyRecord:
    """Return `found` redacted, its token ids excepted: these need their text, see `segment`. Raises `Withheld`."""
    return cast(AnyRecord, redactor.whole(lambda: _record(redactor, found)))


def _record(redactor: Redactor, found: Record | SpanStart) -> Record | SpanStart:
    if isinstance(found, SpanEnd):
        events = [(time, redactor.name(name), redactor.attributes(values)) for time, name, values in found.events or ()]
        message = found.message and redactor.text("message", found.message)
        made = _span(redactor, found)
        return msgspec.structs.replace(made, message=message, events=events or None, trace_state=redactor.name(found.trace_state))
    if isinstance(found, SpanStart):
        return _span(redactor, found)
    if isinstance(found, Event):
        return _event(redactor, found)
    if isinstance(found, Tokens):
        return msgspec.structs.replace(found, attributes=redactor.attributes(found.attributes))
    return _otlp(redactor, found)


def _span(redactor: Redactor, found: AnySpan) -> AnySpan:
    links = [(trace, span, redactor.attributes(values)) for trace, span, values in found.links or ()]
    changes = {"name": redactor.name(found.name), "attributes": redactor.attributes(found.attributes), "links": links or None}
    return msgspec.structs.replace(found, **changes)


def _event(redactor: Redactor, found: Event) -> Event:
    attributes = redactor.attributes(content(redactor, found.attributes))
    body = None if found.body is None else redactor.text("body", found.body)
    return msgspec.structs.replace(found, name=redactor.event_name(found.name), attributes=attributes, body=body)


def _otlp(redactor: Redactor, found: Otlp) -> Otlp:
    request = metrics_service_pb2.ExportMetricsServiceRequest.FromString(found.payload)
    redact_message(redactor, request)
    return Otlp(found.signal, request.SerializeToString())
