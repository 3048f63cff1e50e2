"""Generations: messages, tokens, usage."""

import json

import numpy as np
import pytest
from pydantic import BaseModel

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.testing import memory_recorder

SYSTEM = {"role": "system", "content": "rules"}
USER = {
    "role": "user",
    "content": [{"type": "text", "text": "看"}, {"type": "image_url", "image_url": {"url": "https://images.example/map.png"}}],
}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "42"}


def chats(memory):
    return [span.attributes for span in memory.spans if span.name.startswith("chat")]


def test_only_new_messages_are_recorded_letter_by_letter(rollscope_memory):
    """Tool calls, parts and results pass as they are; the second call records what came after the first one's output."""
    tools = [{"type": "function", "function": {"name": "f"}}]
    with rs.trajectory() as traj:
        with traj.generation("m", messages=[SYSTEM, USER], tools=tools) as gen:
            gen.output(CALL, finish_reason="tool_call")
        with traj.generation("m", messages=[SYSTEM, USER, CALL, RESULT], tools=tools) as gen:
            gen.output([{"role": "assistant", "content": "42"}], finish_reason=["stop"])
    first, second = chats(rollscope_memory)
    assert json.loads(first[v.MESSAGES_INPUT]) == [SYSTEM, USER]
    assert json.loads(first[v.MESSAGES_OUTPUT]) == [CALL]
    assert (first[v.MESSAGES_KEPT], first[v.CONTEXT_INDEX], first[v.GEN_AI_RESPONSE_FINISH_REASONS]) == (0, 0, ["tool_call"])
    assert json.loads(second[v.MESSAGES_INPUT]) == [RESULT]
    assert (second[v.MESSAGES_KEPT], second[v.CONTEXT_INDEX]) == (3, 1)
    assert v.CONTEXT_BREAK not in second
    assert json.loads(first[v.GEN_AI_TOOL_DEFINITIONS]) == tools
    assert v.GEN_AI_TOOL_DEFINITIONS not in second
    assert first[v.GEN_AI_CONVERSATION_ID] == traj.id


def test_a_compacted_history_is_a_break(rollscope_memory):
    """What replaced the history is recorded, with the word that it was replaced."""
    with rs.trajectory() as traj:
        for messages in ([SYSTEM, USER, CALL, RESULT], [SYSTEM, {"role": "user", "content": "summary"}]):
            with traj.generation(messages=messages):
                pass
    _, second = chats(rollscope_memory)
    assert (second[v.MESSAGES_KEPT], second[v.CONTEXT_BREAK]) == (1, True)
    assert json.loads(second[v.MESSAGES_INPUT]) == [{"role": "user", "content": "summary"}]


def test_the_input_survives_a_process_that_dies_while_generating(rollscope_memory):
    """The start of the span has the messages already."""
    traj = rs.trajectory()
    traj.generation("m", messages=[USER])
    start = rollscope_memory.started[-1]
    assert json.loads(start.attributes[v.MESSAGES_INPUT]) == [USER]


def test_objects_of_client_libraries_are_messages(rollscope_memory):
    """A pydantic message, as the OpenAI client returns it, is recorded by its content and is the same in the next history."""

    class Message(BaseModel):
        role: str = "assistant"
        content: str | None = None

    with rs.trajectory() as traj:
        with traj.generation(messages=[USER]) as gen:
            gen.output(Message(content="hi"))
        with traj.generation(messages=[USER, Message(content="hi"), {"role": "user", "content": np.str_("x")}]):
            pass
    assert chats(rollscope_memory)[1][v.MESSAGES_KEPT] == 2
    assert json.loads(chats(rollscope_memory)[0][v.MESSAGES_OUTPUT]) == [{"role": "assistant", "content": "hi"}]


def test_messages_over_the_limit_stay_json(rollscope_memory):
    """A large text is cut inside its message, which says how much is missing."""
    large = {"role": "user", "content": [{"type": "text", "text": "A" * 600_000}]}
    with rs.trajectory() as traj, traj.generation(messages=[SYSTEM, large]):
        pass
    system, cut = json.loads(chats(rollscope_memory)[0][v.MESSAGES_INPUT])
    assert system == SYSTEM
    assert cut["content"][0]["text"].endswith(" characters not recorded]")


def test_unreadable_messages_cost_themselves():
    """An iterator is not consumed; the generation is recorded and the context goes on."""
    with memory_recorder(strict=False) as memory, rs.trajectory() as traj:
        with traj.generation(messages=[SYSTEM]):
            pass
        with traj.generation(messages=iter([SYSTEM])) as gen:
            gen.output("x")
        with traj.generation(messages=[SYSTEM, {"role": "assistant", "content": "x"}]):
            pass
    assert [chat[v.MESSAGES_KEPT] for chat in chats(memory)] == [0, 1, 2]
    assert memory.journal.failed == {"messages": 1}


def test_tokens_are_segments_behind_what_is_known(rollscope_memory):
    """Each id is stored once: the second prompt records what follows the first one's output, with ids before it to decode from."""
    prompt, output = list(range(100, 110)), [7, 8, 9]
    with rs.trajectory() as traj:
        with traj.generation() as gen:
            gen.tokens(
                prompt=prompt, output=output, logprobs=[-0.1, -0.2, -0.3], loss_mask=[1, 1, 0], advantages=[0.5, 0.5, 0.5], tokenizer="t"
            )
        with traj.generation() as gen:
            gen.tokens(prompt=[*prompt, *output, 50, 51], prompt_logprobs=[None, *[-1.0] * 14], output=[1])
    found = rollscope_memory.tokens
    assert [(segment.role, segment.kept, segment.lead, segment.ids) for segment in found] == [
        ("prompt", 0, [], prompt),
        ("output", 10, prompt[-8:], output),
        ("prompt", 13, [*prompt[-5:], *output], [50, 51]),
        ("output", 15, [*prompt[-3:], *output, 50, 51], [1]),
    ]
    assert (found[1].logprobs, found[1].loss_mask, found[1].advantages, found[1].tokenizer) == (
        [-0.1, -0.2, -0.3],
        [1, 1, 0],
        [0.5] * 3,
        "t",
    )
    assert found[2].logprobs == [-1.0, -1.0]
    assert {segment.span_id for segment in found[:2]} != {segment.span_id for segment in found[2:]}
    assert [chat[v.GEN_AI_USAGE_INPUT_TOKENS] for chat in chats(rollscope_memory)] == [10, 15]


def test_arrays_and_lists_may_be_mixed(rollscope_memory):
    """An engine that returns arrays and a framework that keeps lists share one stream."""
    with rs.trajectory() as traj:
        with traj.generation() as gen:
            gen.tokens(prompt=np.array([1, 2]), output=[3], logprobs=np.array([-0.5]))
        with traj.generation() as gen:
            gen.tokens(prompt=[1, 2, 3, 4])
    first, second, third = rollscope_memory.tokens
    assert (first.ids, second.ids, second.logprobs) == (np.array([1, 2], "<i4").tobytes(), [3], np.array([-0.5], "<f2").tobytes())
    assert (third.kept, third.lead, third.ids) == (3, [1, 2, 3], [4])


@pytest.mark.parametrize(
    ("wrong", "lost"),
    [
        ({"logprobs": [-0.1]}, "logprobs"),
        ({"loss_mask": np.ones((2, 1))}, "loss_mask"),
        ({"advantages": "ab"}, "advantages"),
        ({"prompt": [[1, 2]]}, "prompt"),
    ],
)
def test_a_wrong_array_loses_nothing_else(wrong, lost):
    """It is left out and counted; the ids and the other arrays are recorded."""
    given = {"prompt": [1, 2], "output": [3, 4], "logprobs": [-0.1, -0.2], "loss_mask": [1, 1], "advantages": [1.0, 1.0]} | wrong
    with memory_recorder(strict=False) as memory, rs.trajectory() as traj, traj.generation() as gen:
        gen.tokens(**given)
    output = memory.tokens[-1]
    assert output.ids == [3, 4]
    assert [name for name in ("logprobs", "loss_mask", "advantages") if getattr(output, name) is None] == (
        [lost] if lost != "prompt" else []
    )
    assert len(memory.tokens) == (1 if lost == "prompt" else 2)
    assert memory.journal.failed == {"token_array": 1}


def test_a_long_segment_becomes_several_records(rollscope_memory):
    """Each part says where it belongs and has the ids before it."""
    ids = list(range(70_000))
    with rs.trajectory() as traj, traj.generation() as gen:
        gen.tokens(prompt=ids, prompt_logprobs=[-1.0] * len(ids))
    parts = rollscope_memory.tokens
    assert len(parts) == 3
    assert [part.kept for part in parts] == [0, 32768, 65536]
    assert [id for part in parts for id in part.ids] == ids
    assert [part.lead for part in parts[1:]] == [ids[32760:32768], ids[65528:65536]]
    assert sum(len(part.logprobs) for part in parts) == 70_000


def test_usage_of_the_engine_goes_before_lengths(rollscope_memory):
    """Counts that are told stay; further ones keep their name."""
    with rs.trajectory() as traj, traj.generation() as gen:
        gen.usage(input_tokens=5, output_tokens=6, reasoning_tokens=2)
        gen.tokens(prompt=[1], output=[2])
    chat = chats(rollscope_memory)[0]
    assert (chat[v.GEN_AI_USAGE_INPUT_TOKENS], chat[v.GEN_AI_USAGE_OUTPUT_TOKENS], chat["gen_ai.usage.reasoning_tokens"]) == (5, 6, 2)


@pytest.mark.parametrize(
    ("switch", "text", "ids", "logprobs"),
    [("none", False, False, False), ("text", True, False, False), ("tokens", False, True, False), ("tokens,logprobs", False, True, True)],
)
def test_content_is_recorded_as_the_switches_say(switch, text, ids, logprobs):
    """Text, ids and log-probabilities can each be left out."""
    said = {"messages": [USER], "tools": [{"type": "function"}]}
    with memory_recorder(environment={"ROLLSCOPE_CAPTURE": switch}) as memory, rs.trajectory(), rs.generation(**said) as gen:
        gen.tokens(prompt=[1], output=[2], logprobs=[-1.0])
        gen.output("x")
    (chat,) = chats(memory)
    assert {v.MESSAGES_INPUT, v.MESSAGES_OUTPUT, v.GEN_AI_TOOL_DEFINITIONS, v.MESSAGES_KEPT} & chat.keys() == (
        {v.MESSAGES_INPUT, v.MESSAGES_OUTPUT, v.GEN_AI_TOOL_DEFINITIONS, v.MESSAGES_KEPT} if text else set()
    )
    assert len(memory.tokens) == (2 if ids else 0)
    assert all((segment.logprobs is not None) == logprobs for segment in memory.tokens[1:])


def test_another_policy_version_within_a_trajectory(rollscope_memory):
    """Weights that were synchronised on the way are said on the generation that used them."""
    with rs.trajectory(policy_version=3) as traj, traj.turn() as turn, turn.generation(policy_version=4):
        pass
    assert chats(rollscope_memory)[0][v.POLICY_VERSION] == 4
    assert rollscope_memory.span("invoke_agent").attributes[v.POLICY_VERSION] == 3


def test_a_call_of_the_largest_size_fits_into_one_record(rollscope_memory):
    """Input, output and tools at their limits, in a script of three bytes a character, are shortened as JSON and as nothing else."""
    text = "长" * 300_000
    with rs.trajectory() as traj, traj.generation(messages=text, tools=[{"description": text}]) as gen:
        gen.output(text)
    chat = chats(rollscope_memory)[0]
    for name in (v.MESSAGES_INPUT, v.MESSAGES_OUTPUT, v.GEN_AI_TOOL_DEFINITIONS):
        assert "characters not recorded]" in str(json.loads(chat[name]))
    assert rollscope_memory.journal.truncated == {"long_value": 3}
