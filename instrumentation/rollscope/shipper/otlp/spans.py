"""`SpanEnd`, and a `SpanStart` whose process died, → OTLP span."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opentelemetry.proto.trace.v1 import trace_pb2

from ... import vocabulary as v
from ...messages import MessagesError, openai_json_to_parts_json
from ...records import SpanEnd, SpanStart
from .values import put_attributes

ABORTED_MESSAGE = "the process ended before the span did"


def span(record: SpanEnd, sequence: int) -> bytes:
    """Return the encoded `Span` of a finished span."""
    message: Any = trace_pb2.Span()
    _put_common(message, record, record.end)
    put_attributes(message.attributes, with_messages(record.attributes))
    if sequence:
        put_attributes(message.attributes, {v.PRODUCER_SEQUENCE: sequence})
    if record.trace_state:
        message.trace_state = record.trace_state
    message.dropped_attributes_count = record.dropped_attributes
    if record.status:
        message.status.code = record.status
    if record.message:
        message.status.message = record.message
    for time, name, attributes in record.events or ():
        event = message.events.add()
        event.time_unix_nano = time
        event.name = name
        put_attributes(event.attributes, attributes)
    data: bytes = message.SerializeToString()
    return data


def aborted_span(record: SpanStart, end: int) -> bytes:
    """Return the encoded `Span` for one that its process left open; `end` (Unix time, ns) is when the process was seen last."""
    message: Any = trace_pb2.Span()
    _put_common(message, record, max(end, record.start))
    put_attributes(message.attributes, with_messages(record.attributes) | {v.ABORTED: True})
    message.status.code = v.STATUS_ERROR
    message.status.message = ABORTED_MESSAGE
    data: bytes = message.SerializeToString()
    return data


def with_messages(attributes: Mapping[str, object]) -> dict[str, object]:
    """Return attributes with recorded OpenAI messages replaced by GenAI ones; text that is no JSON stays where it was."""
    converted = dict(attributes)
    _convert(converted, v.MESSAGES_INPUT, v.GEN_AI_INPUT_MESSAGES, None)
    reasons = converted.get(v.GEN_AI_RESPONSE_FINISH_REASONS)
    _convert(converted, v.MESSAGES_OUTPUT, v.GEN_AI_OUTPUT_MESSAGES, reasons if isinstance(reasons, list) else None)
    return converted


def _convert(attributes: dict[str, object], recorded: str, sent: str, finish_reasons: list[object] | None) -> None:
    text = attributes.get(recorded)
    if not isinstance(text, str):
        return
    try:
        attributes[sent] = openai_json_to_parts_json(text, finish_reasons)
    except MessagesError:
        return
    del attributes[recorded]


def _put_common(message: Any, record: SpanEnd | SpanStart, end: int) -> None:
    message.trace_id = record.trace_id
    message.span_id = record.span_id
    if record.parent_id:
        message.parent_span_id = record.parent_id
    message.name = record.name
    message.kind = record.kind
    message.start_time_unix_nano = record.start
    message.end_time_unix_nano = end
    for trace_id, span_id, attributes in record.links or ():
        link = message.links.add()
        link.trace_id = trace_id
        link.span_id = span_id
        put_attributes(link.attributes, attributes)
