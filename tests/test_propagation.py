"""Tests of trace and baggage as strings."""

from __future__ import annotations

from opentelemetry import baggage, trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from rollscope.propagation import extract, inject, without


def test_what_was_injected_is_extracted() -> None:
    """The trace, the baggage that was there and the entries that were added."""
    span = NonRecordingSpan(SpanContext(7, 8, False, TraceFlags(TraceFlags.SAMPLED)))
    before = baggage.set_baggage("theirs", "a b", trace.set_span_in_context(span, Context()))
    place = inject({"rl.step.index": "12", "rl.group.id": "重, 1"}, before)
    assert place["traceparent"] == f"00-{7:032x}-{8:016x}-01"
    context, entries = extract(place, Context())
    assert entries == {"theirs": "a b", "rl.step.index": "12", "rl.group.id": "重, 1"}
    found = trace.get_current_span(context).get_span_context()
    assert (found.trace_id, found.span_id) == (7, 8)
    assert baggage.get_all(before) == {"theirs": "a b"}


def test_entries_are_taken_out() -> None:
    """Only those named; one that is not there is no error."""
    context, _ = extract({"baggage": "a=1,b=2"}, Context())
    assert baggage.get_all(without(("a", "c"), context)) == {"b": "2"}
