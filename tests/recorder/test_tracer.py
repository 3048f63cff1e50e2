"""Tests of OpenTelemetry's tracer over the journal."""

from __future__ import annotations

import asyncio

import pytest
from opentelemetry import context, trace
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode

from rollscope import vocabulary as v
from rollscope.recorder import TracerProvider, current_span, gate, get_tracer
from rollscope.testing import Memory

REMOTE = SpanContext(0xABC, 0xDEF, is_remote=True)


def test_a_tracer_records_kind_attributes_links_and_scope(memory: Memory) -> None:
    """Everything the API can say arrives."""
    tracer = TracerProvider().get_tracer("lib", "1.0")
    span = tracer.start_span("GET", kind=SpanKind.CLIENT, attributes={"a": 1}, links=[Link(REMOTE)], start_time=7)
    span.set_status(StatusCode.OK)
    span.end(9)
    record = memory.span("GET")
    assert (record.kind, record.attributes, record.scope, record.status) == (3, {"a": 1}, "lib", 1)
    assert (record.start, record.end) == (7, 9)
    assert record.links is not None


def test_start_as_current_span_nests(memory: Memory) -> None:
    """As a context manager the span is current inside, and the parent of ours."""
    with get_tracer().start_as_current_span("outer") as outer:
        assert trace.get_current_span() is outer
        with memory.recorder.start_span("inner"):
            pass
    assert not trace.get_current_span().is_recording()
    assert memory.span("inner").parent_id == memory.span("outer").span_id


def test_an_explicit_context_gives_the_parent(memory: Memory) -> None:
    """The `context` argument counts more than what is current; an empty one means a root."""
    elsewhere = trace.set_span_in_context(NonRecordingSpan(REMOTE))
    with memory.recorder.start_span("current"):
        get_tracer().start_span("child of remote", context=elsewhere).end()
        get_tracer().start_span("root", context=context.Context()).end()
    assert int.from_bytes(memory.span("child of remote").trace_id, "big") == 0xABC
    assert memory.span("root").parent_id is None


def test_identity_comes_from_our_span_around(memory: Memory) -> None:
    """Spans of an instrumentation carry the step they happened in."""
    with memory.recorder.start_span("step", identity={v.STEP_INDEX: 2}), get_tracer("lib").start_as_current_span("GET"):
        pass
    assert memory.span("GET").attributes == {v.STEP_INDEX: 2}


@pytest.mark.parametrize(("record", "status"), [(True, True), (False, True), (True, False), (False, False)])
def test_an_exception_is_recorded_as_asked(memory: Memory, record: bool, status: bool) -> None:
    """`record_exception` and `set_status_on_exception` are honoured."""
    with (
        pytest.raises(ValueError, match="x"),
        get_tracer().start_as_current_span("work", record_exception=record, set_status_on_exception=status),
    ):
        raise ValueError("x")
    found = memory.span("work")
    assert (found.events is not None, found.status) == (record, 2 if status else 0)


def test_end_on_exit_may_be_off(memory: Memory) -> None:
    """The span goes on after the block."""
    with get_tracer().start_as_current_span("work", end_on_exit=False) as span:
        pass
    assert memory.spans == []
    span.end()
    assert memory.span("work")


def test_a_decorated_function_makes_a_span_each_call(memory: Memory) -> None:
    """Plain functions, recursion included."""

    @get_tracer().start_as_current_span("count down")
    def count_down(number: int) -> int:
        return count_down(number - 1) if number else 0

    assert count_down(2) == 0
    assert len(memory.spans) == 3
    assert len({span.trace_id for span in memory.spans}) == 1


def test_a_decorated_coroutine_function_ends_with_its_coroutine(memory: Memory) -> None:
    """The span covers what is awaited."""

    @get_tracer().start_as_current_span("work")
    async def work() -> None:
        await asyncio.sleep(0)
        assert memory.spans == []
        assert current_span() is not None

    asyncio.run(work())
    assert memory.span("work")


def test_use_span_of_the_api_works_with_our_spans(memory: Memory) -> None:
    """What is made current through the API is found by ours."""
    span = memory.recorder.start_span("work")
    with trace.use_span(span, end_on_exit=True):
        assert current_span() is span
        memory.recorder.start_span("child").end()
    assert memory.span("child").parent_id == memory.span("work").span_id


def test_without_a_run_spans_do_not_record(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tracer may be used before and after a run; it keeps the parent's context."""
    from rollscope.recorder import session

    state = session.snapshot()
    session.use(None)
    try:
        with trace.use_span(NonRecordingSpan(REMOTE)), get_tracer().start_as_current_span("work") as span:
            assert not span.is_recording()
            assert span.get_span_context() == REMOTE
    finally:
        session.restore(state)
    assert memory.records == []


def test_a_foreign_span_in_between_does_not_break_the_chain(memory: Memory) -> None:
    """Below a span of somebody else's SDK, ours still know their trajectory; the foreign span is their parent."""
    foreign = SdkTracerProvider(shutdown_on_exit=False).get_tracer("foreign")
    with (
        memory.recorder.start_span("trajectory", identity={v.GROUP_ID: "g"}) as outer,
        foreign.start_as_current_span("between") as between,
    ):
        assert current_span() is outer
        outer.trajectory = "object"
        with memory.recorder.start_span("tool") as tool:
            assert tool.trajectory == "object"
    record = memory.span("tool")
    assert record.attributes == {v.GROUP_ID: "g"}
    assert record.parent_id == between.get_span_context().span_id.to_bytes(8, "big")
    assert record.trace_id == outer.trace_id


def test_wrong_arguments_are_counted_not_raised(lenient: Memory) -> None:
    """A kind that is none and a context that is none cost the span; a name, a scope or a time of another type does not."""
    with get_tracer("lib").start_as_current_span("lost", kind=1):  # type: ignore[arg-type]
        pass
    get_tracer("lib").start_span("lost", context=7).end()  # type: ignore[arg-type]
    span = get_tracer(["lib"]).start_span(["GET"], start_time=0.5)  # type: ignore[arg-type]
    span.add_event(["sent"], timestamp=0.5)  # type: ignore[arg-type]
    span.set_status(StatusCode.ERROR, ["bad"])  # type: ignore[arg-type]
    span.end()
    (record,) = lenient.spans
    assert (record.name, record.scope, record.status) == ("['GET']", "", 2)
    assert [event[1] for event in record.events] == ["['sent']"]
    assert gate.counted()["span"] == 2


def test_an_event_of_another_type_is_recorded_as_text(lenient: Memory) -> None:
    """What is given as an event or its body becomes text; a record that cannot be read back would be lost where nobody sees it."""
    lenient.recorder.event("rl.event", {}, body={"lr": 0.1})  # type: ignore[arg-type]
    lenient.recorder.event(ValueError("x"), {})  # type: ignore[arg-type]
    assert [(event.name, event.body) for event in lenient.events] == [("rl.event", "{'lr': 0.1}"), ("ValueError('x')", None)]
