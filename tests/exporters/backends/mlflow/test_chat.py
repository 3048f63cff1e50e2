"""A trajectory in the shape that MLflow's chat view renders."""

from __future__ import annotations

import json
import struct
from typing import Any

import msgspec

from rollscope import vocabulary as v
from rollscope_exporters.backends.mlflow._chat import chat_spans, turn_messages, whole_history
from rollscope_exporters.backends.mlflow._fold import fold_history
from rollscope_exporters.backends.mlflow._plain import foreign_span
from rollscope_exporters.backends.mlflow._preview import previews
from rollscope_exporters.records import TokenSegment, Trajectory
from rollscope_exporters.testing import Sampler


def shown(trajectory: Trajectory, history_bytes: int = 1 << 20) -> dict[str, dict[str, Any]]:
    return {title: attributes for _, title, attributes in chat_spans(trajectory, history_bytes, 1 << 20)}


def test_the_root_holds_the_conversation_letter_by_letter() -> None:
    """Inputs are the prompt, outputs all that followed, and together they are the messages as recorded."""
    trajectory = Sampler().trajectory(turns=3)
    root = shown(trajectory)["invoke_agent adder"]
    inputs, outputs = json.loads(root["mlflow.spanInputs"]), json.loads(root["mlflow.spanOutputs"])
    assert inputs["messages"] + outputs == trajectory.messages
    assert [message["role"] for message in inputs["messages"]] == ["system", "user"]
    assert root["mlflow.spanType"] == "AGENT"


def test_a_generation_shows_what_it_saw_and_said() -> None:
    """The whole history, the choice with its finish reason, the tools, the token counts and the model."""
    trajectory = Sampler().trajectory(turns=2)
    chats = [
        attributes for span, _, attributes in chat_spans(trajectory, 1 << 20, 1 << 20) if attributes["mlflow.spanType"] == "CHAT_MODEL"
    ]
    last = chats[-1]
    assert json.loads(last["mlflow.spanInputs"])["messages"] == trajectory.messages[:-1]
    assert json.loads(last["mlflow.spanOutputs"])["choices"] == [{"index": 0, "message": trajectory.messages[-1], "finish_reason": "stop"}]
    assert json.loads(last["mlflow.chat.tools"])[0]["function"]["name"] == "add"
    assert json.loads(last["mlflow.chat.tokenUsage"]) == {"input_tokens": 200, "output_tokens": 12, "total_tokens": 212}
    assert last["mlflow.llm.model"] == "qwen"


def test_a_tool_shows_arguments_and_result() -> None:
    """Arguments as an object, the result as it came, the tool's own name as title."""
    tool = shown(Sampler().trajectory(turns=2))["add"]
    assert tool["mlflow.spanType"] == "TOOL"
    assert json.loads(tool["mlflow.spanInputs"]) == {"a": 0, "b": 1}
    assert json.loads(tool["mlflow.spanOutputs"]) == "1"


def test_a_failed_tool_shows_its_error() -> None:
    """Without a result the error stands in its place."""
    trajectory = Sampler().trajectory(turns=2)
    tool = next(span for span in trajectory.spans if span.name == "execute_tool add")
    attributes = {key: value for key, value in tool.attributes.items() if key != v.GEN_AI_TOOL_CALL_RESULT}
    failed = msgspec.structs.replace(tool, status=2, message="KeyError: 'Atlantis'", attributes=attributes)
    spans = [failed if span is tool else span for span in trajectory.spans]
    shown_tool = shown(msgspec.structs.replace(trajectory, spans=spans))["add"]
    assert json.loads(shown_tool["mlflow.spanOutputs"]) == {"error": "KeyError: 'Atlantis'"}


def test_a_turn_shows_what_happened_in_it() -> None:
    """The model's message and the tool's answer, not what the environment said next."""
    trajectory = Sampler().trajectory(turns=2)
    turns = dict(turn_messages(trajectory))
    assert turns == {0: trajectory.messages[2:4], 1: trajectory.messages[4:]}
    assert json.loads(shown(trajectory)["turn 0"]["mlflow.spanOutputs"]) == turns[0]


def test_transport_and_replaced_attributes_are_left_off() -> None:
    """Message parts that hold only what was new, and counters of the transport, do not reach MLflow; own attributes do."""
    trajectory = Sampler().trajectory()
    spans = [
        msgspec.structs.replace(span, attributes={**span.attributes, v.GEN_AI_INPUT_MESSAGES: "[]", v.PRODUCER_SEQUENCE: 3, "my.own": 1})
        for span in trajectory.spans
    ]
    for attributes in shown(msgspec.structs.replace(trajectory, spans=spans)).values():
        assert attributes["my.own"] == 1
        assert v.GEN_AI_INPUT_MESSAGES not in attributes
        assert v.PRODUCER_SEQUENCE not in attributes


def test_history_that_a_record_left_out_is_put_back() -> None:
    """A generation whose record skips the beginning of its history shows it from the conversation."""
    trajectory = Sampler().trajectory(turns=3)
    full = trajectory.generations[-1]
    short = msgspec.structs.replace(full, input=full.input[4:], left_out=4)
    assert whole_history(short, trajectory.messages) == full.input
    other = msgspec.structs.replace(short, input=[{"role": "user", "content": "edited"}])
    assert whole_history(other, trajectory.messages) == other.input


def test_a_long_history_is_folded_in_the_middle() -> None:
    """Over the limit stay the first message, a note with the numbers, and the last ones; the root is never folded."""
    messages: list[dict[str, object]] = [{"role": "user", "content": f"{number} " + "x" * 100} for number in range(50)]
    folded = fold_history(messages, 1500)
    assert folded[0] == messages[0]
    assert folded[2:] == messages[-len(folded[2:]) :]
    assert "earlier messages" in str(folded[1]["content"])
    assert fold_history(messages, 1 << 20) == messages
    assert fold_history(messages[:2], 10) == messages[:2]


def token(span_id: str, role: str, kept: int, text: str | None, undecoded: str = "") -> TokenSegment:
    count = len(text or "xx")
    ids = struct.pack(f"<{count}i", *range(count))
    return TokenSegment(span_id=span_id, time=0, role=role, kept=kept, count=count, ids=ids, text=text, undecoded=undecoded)


def test_token_text_stands_in_for_messages() -> None:
    """A trajectory recorded by token ids alone is shown as the text they decode to, prompt and outputs in turn."""
    trajectory = Sampler().trajectory(turns=2)
    one, two = trajectory.generations
    segments = [token(one.span_id, "prompt", 0, "Q1"), token(one.span_id, "output", 2, "A1"), token(two.span_id, "prompt", 4, "Q2"),
                token(two.span_id, "output", 6, "答")]  # fmt: skip
    bare = [msgspec.structs.replace(generation, input=[], output=[]) for generation in trajectory.generations]
    trajectory = msgspec.structs.replace(trajectory, messages=[], generations=bare, tokens=segments)
    chats = {span.span_id: attributes for span, _, attributes in chat_spans(trajectory, 1 << 20, 1 << 20)}
    history = [message["content"] for message in json.loads(str(chats[two.span_id]["mlflow.spanInputs"]))["messages"]]
    assert history == ["Q1", "A1", "Q2"]
    assert json.loads(str(chats[two.span_id]["mlflow.spanOutputs"]))["choices"][0]["message"] == {"role": "assistant", "content": "答"}
    assert chats[one.span_id]["rl.tokens.output.text"] == "A1"
    assert previews(trajectory) == ("Q1", "答")


def test_ids_without_text_say_why() -> None:
    """Where no tokenizer could be had, the span has the count and the reason."""
    trajectory = Sampler().trajectory(turns=1)
    span_id = trajectory.generations[0].span_id
    trajectory = msgspec.structs.replace(trajectory, tokens=[token(span_id, "output", 0, None, "no tokenizer named x")])
    attributes = next(attributes for span, _, attributes in chat_spans(trajectory, 1 << 20, 1 << 20) if span.span_id == span_id)
    assert attributes["rl.tokens.output.undecoded"] == "no tokenizer named x"
    assert attributes["rl.tokens.output.count"] == 2


def test_previews_are_the_task_and_the_last_word() -> None:
    """The list of traces shows the user's request and the model's last text, or its last tool call."""
    sampler = Sampler()
    request, response = previews(sampler.trajectory(group="sum"))
    assert request.startswith("sum: what is")
    assert response.startswith("The answer is")
    cut_short = sampler.trajectory(messages=sampler.conversation()[:3])
    assert previews(cut_short)[1] == 'add({"a": 0, "b": 1})'


def test_foreign_spans_keep_their_messages() -> None:
    """A span of a program without rollscope keeps its `gen_ai` messages, for MLflow reads them itself."""
    span = Sampler().span("0" * 32, "chat gpt", attributes={v.GEN_AI_OPERATION_NAME: "chat", v.GEN_AI_INPUT_MESSAGES: "[]"})
    title, attributes = foreign_span(span)
    assert title == "chat gpt"
    assert attributes["mlflow.spanType"] == "CHAT_MODEL"
    assert attributes[v.GEN_AI_INPUT_MESSAGES] == "[]"
