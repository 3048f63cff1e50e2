"""The airline conversations, recorded as a rollout would and put together again by the bridge's pipeline."""

from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.records import Trajectory
from tests.airline import Conversation, load_conversations, tool_definitions
from tests.exporters.bridge import Bridge
from tests.exporters.wire import process, requests


def replay(conversation: Conversation, *, compact_at: int | None = None) -> list[list[dict[str, object]]]:
    """Record one conversation as its rollout would have been; returns the history that each generation saw."""
    histories, history = [], []
    tools = tool_definitions(conversation.messages)
    with rs.trajectory(step=1, group=conversation.group, index=conversation.trial, agent="airline") as traj:
        for message in conversation.messages:
            if message["role"] == "assistant":
                if compact_at is not None and len(histories) == compact_at:
                    history = [history[0], {"role": "user", "content": f"[{len(history)} messages left out]"}]
                histories.append(list(history))
                with traj.turn(), rs.generation("qwen", messages=history, tools=tools) as gen:
                    gen.output(message)
            history.append(dict(message))
        traj.reward(conversation.reward)
    return histories


@pytest.mark.parametrize("compact_at", [None, 2])
def test_every_history_comes_out_letter_by_letter(tmp_path: Path, compact_at: int | None) -> None:
    """Each generation has the very history it saw, also behind a compacted one, under its group and trial."""
    conversations = load_conversations()
    bridge = Bridge(tmp_path)
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        seen = {(each.group, each.trial): replay(each, compact_at=compact_at) for each in conversations}
        bridge.take(requests(worker.items()))
    found = {(trajectory.group, trajectory.index): trajectory for trajectory in bridge.of(Trajectory)}
    assert found.keys() == seen.keys()
    for each in conversations:
        trajectory = found[each.group, each.trial]
        assert trajectory.incomplete == ""
        assert [generation.input for generation in trajectory.generations] == seen[each.group, each.trial]
        assert [generation.output for generation in trajectory.generations] == [[m] for m in each.messages if m["role"] == "assistant"]
        assert trajectory.reward == each.reward
        if compact_at is None:
            assert trajectory.messages == each.messages[: len(trajectory.messages)]


def test_each_message_is_stored_once() -> None:
    """What is recorded grows with the conversation, not with its square."""
    conversation = max(load_conversations(), key=lambda each: len(each.messages))
    with process() as worker:
        replay(conversation)
        stored = sum(
            len(str(span.attributes.get(name, ""))) for span in worker.memory.spans for name in (v.MESSAGES_INPUT, v.MESSAGES_OUTPUT)
        )
    assert stored < 1.3 * sum(len(str(message)) for message in conversation.messages)
