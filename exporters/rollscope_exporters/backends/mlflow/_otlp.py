"""Plain spans to OTLP, with values that every MLflow store takes."""

from __future__ import annotations

import math
from collections.abc import Mapping

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan

from ...records import Span

_BYTES_SHOWN = 64
_INT64 = 1 << 63


def to_otlp(span: Span, name: str, attributes: Mapping[str, object], limit: int) -> OtlpSpan:
    """Return `span` with other attributes. An end before the start becomes the start: MLflow shows negative durations."""
    made = OtlpSpan(
        trace_id=bytes.fromhex(span.trace_id),
        span_id=bytes.fromhex(span.span_id),
        name=clean_text(name, 500) or "span",
        kind=span.kind if 0 <= span.kind <= 5 else 1,  # type: ignore[arg-type]
        start_time_unix_nano=max(span.start, 0),
        end_time_unix_nano=max(span.end, span.start, 0),
        attributes=key_values(attributes, limit),
    )
    if span.parent_id:
        made.parent_span_id = bytes.fromhex(span.parent_id)
    made.status.code = span.status if span.status in (0, 1, 2) else 0  # type: ignore[assignment]
    made.status.message = clean_text(span.message, 4000)
    for time, event, carried in span.events:
        made.events.add(time_unix_nano=max(time, 0), name=clean_text(event, 500), attributes=key_values(carried, limit))
    for trace_id, span_id, carried in span.links:
        made.links.add(trace_id=bytes.fromhex(trace_id), span_id=bytes.fromhex(span_id), attributes=key_values(carried, limit))
    return made


def key_values(attributes: Mapping[str, object], limit: int) -> list[KeyValue]:
    return [KeyValue(key=clean_text(key, 250), value=any_value(value, limit)) for key, value in attributes.items()]


def any_value(value: object, limit: int) -> AnyValue:
    """Return `value` as OTLP; NaN, infinities, wide integers and bytes as text, since MLflow keeps attributes as JSON."""
    if isinstance(value, bool):
        return AnyValue(bool_value=value)
    if isinstance(value, int):
        return AnyValue(int_value=value) if -_INT64 <= value < _INT64 else AnyValue(string_value=str(value))
    if isinstance(value, float):
        return AnyValue(double_value=value) if math.isfinite(value) else AnyValue(string_value=str(value))
    if isinstance(value, bytes):
        return AnyValue(string_value=value.hex() if len(value) <= _BYTES_SHOWN else f"{len(value)} bytes")
    return _composite(value, limit)


def _composite(value: object, limit: int) -> AnyValue:
    made = AnyValue()
    if isinstance(value, (list, tuple)):
        made.array_value.SetInParent()
        made.array_value.values.extend(any_value(item, limit) for item in value)
    elif isinstance(value, Mapping):
        made.kvlist_value.SetInParent()
        made.kvlist_value.values.extend(key_values({str(key): item for key, item in value.items()}, limit))
    elif value is not None:
        made.string_value = clean_text(str(value), limit)
    return made


def clean_text(text: str, limit: int) -> str:
    """Return `text` without NUL, which PostgreSQL refuses, and of at most `limit` characters; what is cut is said."""
    if "\0" in text:
        text = text.replace("\0", "\N{REPLACEMENT CHARACTER}")
    if len(text) <= limit:
        return text
    note = f"… [{len(text)} characters]"
    return text[: max(0, limit - len(note))] + note
