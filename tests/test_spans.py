"""Spans of the user's own and what acts on the current one."""

import pytest
from opentelemetry.trace import INVALID_SPAN_CONTEXT

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.kinds import shape


async def test_a_span_works_in_both_kinds_of_with(rollscope_memory):
    """`with` and `async with` make it current and end it."""
    with rs.span("a", {"x": 1}):
        async with rs.span("search", kind="tool", attributes={"y": 2}):
            rs.set({"z": [3]}, w="four")
    assert rollscope_memory.span("a").attributes == {"x": 1}
    tool = rollscope_memory.span("execute_tool search")
    assert tool.attributes == {v.GEN_AI_OPERATION_NAME: "execute_tool", v.GEN_AI_TOOL_NAME: "search", "y": 2, "z": [3], "w": "four"}
    assert tool.parent_id == rollscope_memory.span("a").span_id


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        (None, ("x", 1)),
        ("server", ("x", 2)),
        ("client", ("x", 3)),
        ("agent", ("invoke_agent x", 1)),
        ("chat", ("chat x", 3)),
    ],
)
def test_kinds_name_spans(kind, wanted):
    """A role is an OTLP kind; an operation names the span as the GenAI conventions do."""
    assert shape("x", kind)[:2] == wanted


def test_an_unknown_kind_is_counted_where_it_runs():
    """Unlike at decoration, a wrong kind at run time costs only the span."""
    with rs.testing.memory_recorder(strict=False) as memory, rs.span("a", kind="tol") as span:
        assert not span.is_recording()
    assert memory.journal.failed == {"span": 1}


def test_events_are_records_of_their_own(rollscope_memory):
    """An event is written at once, named in its body, with ids and identity of the current span."""
    rs.event("warm", {"k": 1})
    with rs.step(3) as step:
        rs.event("eviction", {"blocks": 7}, cause="full")
        step.event("swap")
    warm, eviction, swap = [event for event in rollscope_memory.events if event.name == v.EVENT_NOTE]
    assert (warm.body, warm.attributes, warm.trace_id) == ("warm", {"k": 1}, None)
    assert (eviction.body, eviction.attributes) == ("eviction", {"blocks": 7, "cause": "full", v.STEP_INDEX: 3})
    assert (eviction.span_id, swap.span_id) == (step.span.span_id,) * 2


def test_without_a_run_everything_is_there_and_does_nothing():
    """Calls return the object that does nothing."""
    with rs.span("a") as span:
        span.set_attribute("x", 1)
        rs.set(x=1)
        rs.event("e")
    assert span.get_span_context() is INVALID_SPAN_CONTEXT


def test_set_without_a_current_span_does_nothing(rollscope_memory):
    """There is nothing to set it on."""
    rs.set(x=1)
    assert rollscope_memory.records == []
