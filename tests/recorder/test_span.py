"""Tests of spans: what they record, when, and what cannot harm them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from typing import Any

import pytest
from opentelemetry import baggage, context, trace
from opentelemetry.trace import Link, SpanContext, Status, StatusCode, TraceFlags

from rollscope import vocabulary as v
from rollscope.recorder import Span, current_span
from rollscope.records import SpanEnd, SpanStart
from rollscope.settings import Limits
from rollscope.testing import Memory, memory_recorder

REMOTE = SpanContext(0xABC, 0xDEF, is_remote=True, trace_flags=TraceFlags(0))


def test_start_and_end_are_records_of_their_own(memory: Memory) -> None:
    """The start is held at once, the end is whole in itself; duration follows the monotonic clock."""
    span = memory.recorder.start_span("work", kind=3, attributes={"a": 1}, scope="mine")
    assert memory.records == [SpanStart(b"\0" * 15 + b"\1", b"\0" * 7 + b"\1", None, "work", 3, memory.clock.wall, {"a": 1}, None, "mine")]
    start = memory.clock.wall
    memory.clock.advance(2.5)
    memory.clock.set_wall(0)
    span.set_attribute("b", "x")
    span.end()
    assert memory.records[1:] == [
        SpanEnd(span.trace_id, span.span_id, None, "work", 3, start, start + 2_500_000_000, 0, None, {"a": 1, "b": "x"}, None, None, "mine")
    ]
    assert [number for _, number, _ in memory.journal.entries] == [0, 1]


def test_with_makes_the_span_current_and_parent_of_what_is_inside(memory: Memory) -> None:
    """Ours and OpenTelemetry's view of the current span agree, inside and after."""
    with memory.recorder.start_span("outer") as outer:
        assert trace.get_current_span() is outer
        assert current_span() is outer
        with memory.recorder.start_span("inner") as inner:
            assert trace.get_current_span() is inner
        assert trace.get_current_span() is outer
    assert current_span() is None
    assert memory.span("inner").parent_id == outer.span_id
    assert memory.span("inner").trace_id == outer.trace_id


def test_enter_and_leave_do_not_end(memory: Memory) -> None:
    """A span can be current for a while and go on."""
    span = memory.recorder.start_span("work")
    span.enter()
    span.leave()
    assert current_span() is None
    assert span.is_recording()
    assert memory.spans == []


def test_a_root_has_no_parent_and_may_bring_its_trace_id(memory: Memory) -> None:
    """Trajectories are traces of their own, with derived ids, whatever is current."""
    with memory.recorder.start_span("step"), memory.recorder.start_span("trajectory", root=True, trace_id=b"t" * 16):
        pass
    record = memory.span("trajectory")
    assert (record.trace_id, record.parent_id) == (b"t" * 16, None)


@pytest.mark.parametrize("form", ["context", "span"])
def test_a_remote_parent_is_followed_even_when_it_was_not_sampled(memory: Memory, form: str) -> None:
    """Sampling elsewhere does not silence the recorder here."""
    parent = REMOTE if form == "context" else trace.NonRecordingSpan(REMOTE)
    memory.recorder.start_span("work", parent=parent).end()
    record = memory.span("work")
    assert int.from_bytes(record.trace_id, "big") == 0xABC
    assert record.parent_id == (0xDEF).to_bytes(8, "big")


def test_identity_is_inherited_and_set_last(memory: Memory) -> None:
    """Children carry step and group of their parents; no attribute of the user's replaces them."""
    with (
        memory.recorder.start_span("step", identity={v.STEP_INDEX: 3}),
        memory.recorder.start_span("trajectory", identity={v.GROUP_ID: "g"}) as trajectory,
    ):
        trajectory.trajectory = "object"
        with memory.recorder.start_span("tool", attributes={v.GROUP_ID: "wrong"}) as tool:
            assert tool.trajectory == "object"
            tool.set_attribute(v.STEP_INDEX, 4)
    assert memory.span("step").attributes == {v.STEP_INDEX: 3}
    assert memory.span("tool").attributes == {v.GROUP_ID: "g", v.STEP_INDEX: 3}
    assert memory.started[-1].attributes == {v.GROUP_ID: "g", v.STEP_INDEX: 3}


def test_links_take_spans_contexts_and_links(memory: Memory) -> None:
    """Whatever names another span can be linked to, at start or later; an invalid one is nothing."""
    other = memory.recorder.start_span("other")
    span = memory.recorder.start_span("work", links=[other, REMOTE, Link(REMOTE, {"a": 1})])
    span.add_link(other.get_span_context(), {"late": True})
    span.add_link(trace.INVALID_SPAN_CONTEXT)
    span.end()
    remote = ((0xABC).to_bytes(16, "big"), (0xDEF).to_bytes(8, "big"))
    assert [tuple(link) for link in memory.span("work").links or []] == [
        (other.trace_id, other.span_id, {}),
        (*remote, {}),
        (*remote, {"a": 1}),
        (other.trace_id, other.span_id, {"late": True}),
    ]


def test_events_keep_their_time(memory: Memory) -> None:
    """An event is now, on the span's own clock, or when its caller says."""
    span = memory.recorder.start_span("work")
    memory.clock.advance(1)
    span.add_event("now", {"a": 1})
    span.add_event("then", timestamp=5)
    span.end()
    record = memory.span("work")
    assert [tuple(event) for event in record.events or []] == [(record.start + 10**9, "now", {"a": 1}), (5, "then", {})]


def test_an_exception_is_recorded_and_goes_on(memory: Memory) -> None:
    """Event with type, message and stack, error status, `error.type`; the program sees its exception."""
    with pytest.raises(ValueError, match="broken"), memory.recorder.start_span("work"):
        raise ValueError("broken")
    record = memory.span("work")
    assert (record.status, record.message) == (2, "ValueError: broken")
    assert record.attributes[v.ERROR_TYPE] == "ValueError"
    assert record.events is not None
    _, name, attributes = record.events[0]
    assert name == "exception"
    assert attributes[v.EXCEPTION_MESSAGE] == "broken"
    assert "test_span.py" in str(attributes[v.EXCEPTION_STACKTRACE])


def test_a_long_stack_keeps_its_innermost_part(memory: Memory) -> None:
    """Of a deep recursion the end is what matters."""

    def fall(depth: int) -> None:
        if depth == 0:
            raise RuntimeError("x" * 20_000)
        [fall, str][depth % 1](depth - 1)

    with pytest.raises(RuntimeError), memory.recorder.start_span("work"):
        fall(100)
    assert memory.span("work").events is not None
    stack = str(memory.span("work").events[0][2][v.EXCEPTION_STACKTRACE])  # type: ignore[index]
    assert len(stack) <= Limits().stack_length + 1


def test_cancellation_is_no_error(memory: Memory) -> None:
    """A cancelled rollout is marked as cancelled; its status stays unset."""

    async def rollout() -> None:
        with memory.recorder.start_span("work"):
            await asyncio.sleep(30)

    async def main() -> None:
        task = asyncio.create_task(rollout())
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert (memory.span("work").status, memory.span("work").attributes) == (0, {v.CANCELLED: True})


def test_a_closed_generator_is_no_error(memory: Memory) -> None:
    """A consumer that stops early is no failure of the producer."""

    def produce() -> Iterator[int]:
        with memory.recorder.start_span("work"):
            yield 1
            yield 2

    generator = produce()
    next(generator)
    generator.close()
    assert (memory.span("work").status, memory.span("work").events) == (0, None)


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_an_interrupt_is_an_error_without_a_stack(memory: Memory, kind: type[BaseException]) -> None:
    """What ends the program ended the work."""
    with pytest.raises(kind), memory.recorder.start_span("work"):
        raise kind
    assert (memory.span("work").status, memory.span("work").events) == (2, None)


def test_status_follows_the_specification(memory: Memory) -> None:
    """Ok is final, unset is ignored, a description belongs to an error only."""
    span = memory.recorder.start_span("work")
    span.set_status(Status(StatusCode.ERROR, "first"))
    span.set_status(StatusCode.UNSET)
    span.set_status(StatusCode.ERROR, "second")
    span.end()
    fine = memory.recorder.start_span("fine")
    fine.set_status(StatusCode.ERROR, "first")
    fine.set_status(StatusCode.OK, "ignored")
    fine.set_status(StatusCode.ERROR, "too late")
    fine.end()
    assert [(ended.status, ended.message) for ended in memory.spans] == [(2, "second"), (1, None)]


def test_only_the_first_end_counts(memory: Memory) -> None:
    """After the end nothing changes and nothing raises."""
    span = memory.recorder.start_span("work")
    span.end()
    span.end()
    span.set_attribute("late", 1)
    span.set_attributes({"late": 1})
    span.add_event("late")
    span.add_link(REMOTE)
    span.update_name("late")
    span.set_status(StatusCode.ERROR)
    span.record_exception(ValueError())
    assert len(memory.spans) == 1
    assert not span.is_recording()
    assert span.name == "work"


def test_explicit_times_are_kept_and_never_negative(memory: Memory) -> None:
    """Start and end can be told; an end before the start becomes the start, an untold end is now."""
    now = memory.clock.wall
    memory.recorder.start_span("told", start=100).end(50)
    memory.recorder.start_span("half told", start=now - 7).end()
    assert (memory.span("told").start, memory.span("told").end) == (100, 100)
    assert memory.span("half told").end == now


def test_a_list_is_recorded_as_it_was_when_it_was_set(memory: Memory) -> None:
    """What the program does to its list later is not recorded."""
    values = [1, 2]
    span = memory.recorder.start_span("work")
    span.set_attribute("values", values)
    values.append(3)
    span.end()
    assert memory.span("work").attributes == {"values": [1, 2]}


def test_attributes_given_at_the_start_are_a_copy(memory: Memory) -> None:
    """The caller's dict stays the caller's."""
    attributes = {"a": 1}
    span = memory.recorder.start_span("work", attributes=attributes)
    span.set_attribute("b", 2)
    attributes["c"] = 3
    span.end()
    assert attributes == {"a": 1, "c": 3}
    assert memory.span("work").attributes == {"a": 1, "b": 2}


def test_limits_keep_what_was_set_first_and_all_identity() -> None:
    """Beyond the counts new attributes, events and links are counted, not kept; known attributes can still change."""
    env = {"OTEL_ATTRIBUTE_COUNT_LIMIT": "3", "OTEL_SPAN_EVENT_COUNT_LIMIT": "2", "OTEL_SPAN_LINK_COUNT_LIMIT": "1"}
    with memory_recorder(environment=env) as memory:
        span = memory.recorder.start_span("work", identity={v.STEP_INDEX: 1, v.GROUP_ID: "g"})
        for number in range(5):
            span.set_attribute(f"a{number}", number)
            span.add_event(f"e{number}")
            span.add_link(REMOTE)
        span.set_attribute("a0", "changed")
        span.end()
        record = memory.span("work")
    assert record.attributes == {"a0": "changed", "a1": 1, "a2": 2, v.STEP_INDEX: 1, v.GROUP_ID: "g"}
    assert record.dropped_attributes == 2
    assert record.events is not None
    assert record.links is not None
    assert (len(record.events), len(record.links)) == (2, 1)
    assert memory.journal.truncated == {"many_attributes": 2, "many_events": 3, "many_links": 4}


def test_the_count_limit_holds_at_the_start_too() -> None:
    """What a span begins with beyond the limit is counted as dropped, its identity is kept."""
    with memory_recorder(environment={"OTEL_ATTRIBUTE_COUNT_LIMIT": "2"}) as memory:
        memory.recorder.start_span("work", attributes={"a": 1, "b": 2, "c": 3}, identity={v.GROUP_ID: "g"}).end()
        record = memory.span("work")
    assert (record.attributes, record.dropped_attributes) == ({"a": 1, "b": 2, v.GROUP_ID: "g"}, 1)
    assert memory.journal.truncated == {"many_attributes": 1}


def test_a_span_left_in_another_context_still_ends(memory: Memory) -> None:
    """A generator finalised elsewhere: counted, no error, and the other context keeps its own current span."""
    span = memory.recorder.start_span("work")
    contextvars.Context().run(span.__enter__)
    with memory.recorder.start_span("other") as other:
        span.__exit__(None, None, None)
        assert current_span() is other
    assert memory.span("work")
    assert memory.journal.truncated == {"foreign_context": 1}


def test_the_span_context_is_valid_and_sampled(memory: Memory) -> None:
    """Propagators of OpenTelemetry can carry it."""
    span = memory.recorder.start_span("work")
    found = span.get_span_context()
    assert found.is_valid
    assert found.trace_flags.sampled
    assert found.trace_id.to_bytes(16, "big") == span.trace_id
    assert found.span_id.to_bytes(8, "big") == span.span_id
    assert span.get_span_context() is found


def test_baggage_is_left_alone(memory: Memory) -> None:
    """A current span does not disturb what else is in the context."""
    token = context.attach(baggage.set_baggage("tenant", "a"))
    try:
        with memory.recorder.start_span("work"):
            assert baggage.get_baggage("tenant") == "a"
        assert baggage.get_baggage("tenant") == "a"
    finally:
        context.detach(token)


def test_async_with_works_and_tasks_have_their_own_current_span(memory: Memory) -> None:
    """Concurrent rollouts do not see each other's spans."""

    async def rollout(name: str) -> None:
        async with memory.recorder.start_span(name):
            await asyncio.sleep(0)
            async with memory.recorder.start_span(f"{name} child"):
                await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(rollout("a"), rollout("b"))

    asyncio.run(main())
    for name in ("a", "b"):
        assert memory.span(f"{name} child").parent_id == memory.span(name).span_id


def test_records_of_a_counted_trace_are_counted(memory: Memory) -> None:
    """The tally of a trajectory holds its spans, events and tokens, the root included, and nothing of other traces."""
    recorder = memory.recorder
    with recorder.start_span("root", root=True, counted=True) as root:
        with recorder.start_span("child"):
            pass
        recorder.event("x", {}, trace_id=root.trace_id)
        recorder.event("elsewhere", {}, trace_id=b"o" * 16)
        recorder.tokens(root.trace_id, root.span_id, role="prompt", ids=[1])
        memory.journal.full = {2}
        recorder.tokens(root.trace_id, root.span_id, role="output", ids=[1])
        assert recorder.record_count(root.trace_id) == 4
    assert recorder.record_count(b"o" * 16) == 1


def test_a_broken_recorder_gives_a_span_that_does_nothing(lenient: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where even the start fails the program gets a span it can use, and the failure is counted."""
    monkeypatch.setattr(lenient.recorder, "encoder", None)
    with lenient.recorder.start_span("work", attributes={"a": object()}) as span:
        assert isinstance(span, Span)
        assert not span.is_recording()
    assert lenient.journal.failed == {"span": 1}


def test_the_representation_names_span_and_trace(memory: Memory) -> None:
    """What a debugger shows can be searched for."""
    span = memory.recorder.start_span("work")
    assert repr(span) == f"<Span 'work' {span.trace_id.hex()}/{span.span_id.hex()}>"


def test_arguments_that_make_no_sense_are_counted_not_raised(lenient: Memory) -> None:
    """Every method of a span survives any argument."""
    odd: Any = [object()]
    span = lenient.recorder.start_span("work")
    span.set_attribute(odd, 1)
    span.set_attributes(odd)
    span.add_event(odd, odd)
    span.add_link(odd)
    span.update_name(odd)
    span.set_status(odd)
    span.record_exception(odd)
    span.end(odd)
    assert lenient.recorder.start_span(odd, links=odd).is_recording() is False
    assert len(lenient.spans) == 1
    assert set(lenient.journal.failed) == {"attribute", "span_event", "link", "status", "exception", "span"}


class _Unnamed(type):
    def __getattribute__(cls, name: str) -> object:
        if name in ("__module__", "__qualname__", "__name__"):
            raise RuntimeError(f"{name} is not to be looked at")
        return super().__getattribute__(name)


class OddError(Exception, metaclass=_Unnamed):
    """An exception whose class raises when it is looked at."""


def test_an_exception_that_cannot_be_looked_at_goes_its_way(lenient: Memory) -> None:
    """The program sees its own exception, and the span is ended."""
    with pytest.raises(OddError), lenient.recorder.start_span("work"):
        raise OddError
    assert lenient.span("work")
    assert lenient.journal.failed == {"exception": 1}


def test_a_journal_that_raises_does_so_to_nobody(lenient: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever goes wrong when a span is written: the program goes on, and the span is counted as lost."""

    def broken(*_: object) -> int:
        raise OSError("no descriptor is left")

    with lenient.recorder.start_span("work"):
        monkeypatch.setattr(lenient.recorder, "append", broken)
    assert lenient.journal.dropped == {"record": 1}


def test_many_attributes_too_many_read_the_span_back_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A map of thousands stands at the beginning of the span; each further attribute must not cost reading it again."""
    from rollscope.recorder import span as module

    reads: list[object] = []
    decode = module.decode_start
    monkeypatch.setattr(module, "decode_start", lambda head: reads.append(head) or decode(head))
    limit = memory.recorder.limits.attributes
    with memory.recorder.start_span("work", attributes={f"a{n}": n for n in range(limit)}) as span:
        span.set_attributes({f"b{n}": n for n in range(100)})
        span.set_attribute("a0", "again")
    assert len(reads) == 1
    assert memory.span("work").attributes["a0"] == "again"
    assert not any(name.startswith("b") for name in memory.span("work").attributes)
