"""Spans of an SDK tracer provider."""

from __future__ import annotations

from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.trace import SpanContext

from ...checksum import checksum
from ...journal import Place
from ...records import SPAN_PARTS
from .. import gate, session
from ..links import links_of
from ..recorder import Recorder
from ..span import current_span

__all__ = ["JournalSpanProcessor"]


class JournalSpanProcessor(SpanProcessor):
    """Writes start and end of every sampled span. A span inside one of ours gets its identity (step, group, trajectory)."""

    def __init__(self) -> None:
        self._places: dict[bytes, tuple[Recorder, int, Place]] = {}
        """Where each open span is held, and by whom: neither another run nor a forked child ends it there."""

    def on_start(self, span: SdkSpan, parent_context: Context | None = None) -> None:
        """Write that the span began."""
        recorder = session.current()
        context = span.get_span_context()
        if recorder is None or context is None or not context.trace_flags.sampled:
            return
        with gate.guard("foreign_span", "dropped"):
            own = current_span()
            if own is not None and own.identity is not None and _bytes(context)[0] == own.trace_id:
                span.set_attributes(own.identity)  # type: ignore[arg-type]  # plain values of ours
            trace_id, span_id = _bytes(context)
            row = (
                "s", trace_id, span_id, _parent(span), span.name, span.kind.value + 1, span.start_time or recorder.now(),
                _attributes(span), links_of(span.links), _scope(span),
            )  # fmt: skip
            head = SPAN_PARTS + recorder.encoded(row)
            if (place := recorder.hold(head, checksum(head))) is not None:
                self._places[span_id] = (recorder, recorder.epoch, place)

    def on_end(self, span: ReadableSpan) -> None:
        """Write the whole span."""
        recorder = session.current()
        context = span.get_span_context()
        if recorder is None or context is None or not context.trace_flags.sampled:
            return
        with gate.guard("foreign_span", "dropped"):
            trace_id, span_id = _bytes(context)
            start = span.start_time or recorder.now()
            events = [(event.timestamp, event.name, dict(event.attributes or {})) for event in span.events]
            recorder.write_in_trace(
                (
                    "e", trace_id, span_id, _parent(span), span.name, span.kind.value + 1, start, max(span.end_time or start, start),
                    span.status.status_code.value, span.status.description, _attributes(span), events or None, links_of(span.links),
                    _scope(span), context.trace_state.to_header(), span.dropped_attributes,
                ),
                trace_id,
                over=self._place(recorder, span_id),
            )  # fmt: skip

    def _place(self, recorder: Recorder, span_id: bytes) -> Place | None:
        *whose, place = self._places.pop(span_id, (None, 0, None))
        return place if whose == [recorder, recorder.epoch] else None

    def shutdown(self) -> None:
        """Nothing is held back."""

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Return True: what has ended is in the journal."""
        return True


def _bytes(context: SpanContext) -> tuple[bytes, bytes]:
    return context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big")


def _parent(span: ReadableSpan) -> bytes | None:
    return None if span.parent is None else span.parent.span_id.to_bytes(8, "big")


def _attributes(span: ReadableSpan) -> dict[str, Any]:
    return dict(span.attributes or {})


def _scope(span: ReadableSpan) -> str:
    return span.instrumentation_scope.name if span.instrumentation_scope is not None else ""
