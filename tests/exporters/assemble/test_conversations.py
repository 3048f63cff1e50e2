"""Conversations: histories rebuilt from what was recorded, in every generation of the conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.assemble import Part, conversation, spans_of
from rollscope_exporters.decode import decode
from rollscope_exporters.records import Span

from ..wire import process, requests


def recorded(*generations: tuple[Any, Any], tools: list[Any] | None = None) -> list[Span]:
    """Spans of a trajectory whose generations had these histories and outputs, after the wire."""
    with process() as worker:
        with rs.trajectory(group="g", index=0) as traj:
            for history, output in generations:
                with traj.generation(model="m", messages=history, tools=tools) as gen:
                    gen.output(output)
        sent = [request for request in requests(worker.items()) if request[0] == "traces"]
    parts = [Part(1, number, span) for signal, data in sent for group in decode(signal, data) for number, span in group.spans]
    return spans_of(parts, {1: {}})


text = st.text(alphabet=st.characters(codec="utf-8"), max_size=12)
message = st.one_of(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "system"]), "content": text}),
    st.fixed_dictionaries({"role": st.just("tool"), "tool_call_id": text, "content": text}),
    st.fixed_dictionaries(
        {
            "role": st.just("assistant"),
            "content": st.none(),
            "tool_calls": st.lists(
                st.fixed_dictionaries(
                    {"id": text, "type": st.just("function"), "function": st.fixed_dictionaries({"name": text, "arguments": text})}
                ),
                min_size=1,
                max_size=2,
            ),
        }
    ),
)
answer = st.fixed_dictionaries({"role": st.just("assistant"), "content": text})


@st.composite
def histories(draw: st.DrawFn) -> list[tuple[list[dict[str, object]], dict[str, object]]]:
    """Generations whose history grows, or is edited, cut or compacted on the way."""
    context: list[dict[str, object]] = draw(st.lists(message, max_size=3))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        output = draw(answer)
        found.append((context, output))
        context = [*context, output, *draw(st.lists(message, max_size=2))]
        if draw(st.booleans()) and context:
            cut = draw(st.integers(0, len(context) - 1))
            context = draw(st.sampled_from([context[:cut], context[cut:], [*context[:cut], draw(message), *context[cut + 1 :]]]))
    return found


@settings(deadline=None, max_examples=60)
@given(histories())
def test_every_history_comes_back(told: list[tuple[list[dict[str, object]], dict[str, object]]]) -> None:
    """Whatever happened to the history on the way, each generation gets exactly the one it saw, and the break is known."""
    found = conversation(recorded(*told))
    assert [generation.input for generation in found.generations] == [history for history, _ in told]
    assert [generation.output for generation in found.generations] == [[output] for _, output in told]
    assert found.messages == [*told[-1][0], told[-1][1]]
    assert found.missing == []
    for (before, said), (history, _), generation in zip(told, told[1:], found.generations[1:], strict=False):
        assert generation.broken == (history[: len(before) + 1] != [*before, said])


def test_tools_stay_in_force() -> None:
    """Definitions are recorded when they change and hold for every generation."""
    tools = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
    user = [{"role": "user", "content": "hi"}]
    found = conversation(recorded((user, "a"), (user, "b"), tools=tools))
    assert [generation.tools for generation in found.generations] == [tools, tools]


def test_a_missing_generation_is_named() -> None:
    """When a generation in the middle never arrived, the conversation says what is missing."""
    first = [{"role": "user", "content": "1"}]
    second = [*first, {"role": "assistant", "content": "2"}, {"role": "user", "content": "3"}]
    third = [*second, {"role": "assistant", "content": "4"}, {"role": "user", "content": "5"}]
    spans = recorded((first, "2"), (second, "4"), (third, "6"))
    spans = [span for span in spans if span.attributes.get(v.CONTEXT_INDEX) != 1]
    assert conversation(spans).missing == ["generation 1", "2 messages before generation 2"]


def test_histories_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the histories of a long trajectory would repeat too much, later ones leave out what they kept, and say how much."""
    monkeypatch.setattr("rollscope_exporters.assemble.conversations.HISTORY_BYTES", 500)
    context: list[dict[str, object]] = []
    told = []
    for n in range(6):
        context = [*context, {"role": "user", "content": f"{n}" * 50}]
        told.append((context, {"role": "assistant", "content": "ok"}))
        context = [*context, told[-1][1]]
    found = conversation(recorded(*told))
    assert found.generations[0].left_out == 0
    last = found.generations[-1]
    assert (last.input, last.left_out) == ([told[-1][0][-1]], len(told[-1][0]) - 1)
    assert found.messages == [*told[-1][0], told[-1][1]]


def span(name: str = "chat m", **attributes: object) -> Span:
    """A span of a foreign program."""
    return Span(trace_id="t", span_id=name, parent_id="root", name=name, start=1, end=2, attributes=attributes)


ROOT = Span(trace_id="t", span_id="root", name="invoke_agent", start=0, end=9, attributes={v.GEN_AI_OPERATION_NAME: "invoke_agent"})
CHAT = {v.GEN_AI_OPERATION_NAME: "chat", v.GEN_AI_REQUEST_MODEL: "m"}


@pytest.mark.parametrize("as_text", [True, False])
def test_message_arrays(as_text: bool) -> None:
    """Structured or as JSON text, with system instructions in an attribute of their own."""

    def put(value: object) -> object:
        return json.dumps(value) if as_text else value

    chat = span(
        **CHAT,
        **{
            "gen_ai.system_instructions": put([{"type": "text", "content": "Be brief."}]),
            v.GEN_AI_INPUT_MESSAGES: put([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]),
            v.GEN_AI_OUTPUT_MESSAGES: put([{"role": "assistant", "parts": [{"type": "text", "content": "ho"}], "finish_reason": "stop"}]),
        },
    )
    found = conversation([ROOT, chat])
    assert found.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "ho"},
    ]
    assert found.generations[0].finish_reasons == ["stop"]


def test_one_event_a_message() -> None:
    """The generation before 1.37 wrote span events."""
    call = [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
    chat = Span(
        trace_id="t",
        span_id="c",
        parent_id="root",
        name="chat m",
        start=1,
        end=2,
        attributes=dict(CHAT),
        events=[
            (1, "gen_ai.user.message", {"content": "hi"}),
            (1, "gen_ai.assistant.message", {"tool_calls": json.dumps(call)}),
            (1, "gen_ai.tool.message", {"content": "2", "id": "c"}),
            (2, "gen_ai.choice", {"index": 0, "finish_reason": "stop", "message": json.dumps({"role": "assistant", "content": "ho"})}),
        ],
    )
    found = conversation([ROOT, chat])
    assert found.messages == [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "tool_calls": call},
        {"role": "tool", "content": "2", "tool_call_id": "c"},
        {"role": "assistant", "content": "ho"},
    ]
    assert found.generations[0].finish_reasons == ["stop"]


def test_an_agent_that_tells_it_itself() -> None:
    """Without model calls, the agent span's own messages are the conversation."""
    root = Span(
        trace_id="t",
        span_id="r",
        name="invoke_agent",
        start=0,
        end=1,
        attributes={
            v.GEN_AI_INPUT_MESSAGES: json.dumps([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]),
            v.GEN_AI_OUTPUT_MESSAGES: json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "ho"}]}]),
        },
    )
    assert conversation([root]).messages == [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]


@pytest.mark.parametrize("value", ["{broken", "", "5", "null", 7, [3], '[{"parts": 5}]'])
def test_messages_that_are_none(value: object) -> None:
    """Whatever stands where messages should be, the trajectory is assembled."""
    found = conversation([ROOT, span(**CHAT, **{v.GEN_AI_INPUT_MESSAGES: value, v.GEN_AI_OUTPUT_MESSAGES: value})])
    assert len(found.generations) == 1
