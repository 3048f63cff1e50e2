"""The 48 airline conversations: real multi-turn rollouts with tool calls, 12 tasks of 4 trials each."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from rollscope_exporters.records import Trajectory
from rollscope_exporters.testing import Sampler

FILE = "airline_rollouts.jsonl"


@dataclass(frozen=True)
class Conversation:
    """One rollout of one task."""

    task: int
    trial: int
    reward: float
    messages: list[dict[str, object]]

    @property
    def group(self) -> str:
        return f"airline-{self.task}"


def load_conversations() -> list[Conversation]:
    """All of them, in the order of the file; skips the test where the file is not."""
    file = find_file()
    if file is None:
        pytest.skip(f"{FILE} is not here: set ROLLSCOPE_TEST_DATA to its folder")
    rows = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    return [Conversation(row["task_id"], row["trial"], row["reward"], row["messages"]) for row in rows]


def find_file() -> Path | None:
    """The file in `ROLLSCOPE_TEST_DATA`, or beside the checkout."""
    folders = [os.environ.get("ROLLSCOPE_TEST_DATA"), Path(__file__).parents[2] / "shared" / "data"]
    return next((Path(folder, FILE) for folder in folders if folder and Path(folder, FILE).is_file()), None)


def as_trajectory(conversation: Conversation, sampler: Sampler, step: int = 1) -> Trajectory:
    """The trajectory that recording `conversation` would have led to."""
    tools = tool_definitions(conversation.messages)
    return sampler.trajectory(
        step, conversation.group, conversation.trial, messages=conversation.messages, reward=conversation.reward, tools=tools
    )


def tool_definitions(messages: list[dict[str, object]]) -> list[dict[str, object]]:
    """Definitions of the tools that were called, as far as the calls show them."""
    names: dict[str, list[str]] = {}
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            names.setdefault(call["function"]["name"], []).extend(json.loads(call["function"]["arguments"]))
    return [
        {
            "type": "function",
            "function": {"name": name, "parameters": {"type": "object", "properties": {key: {} for key in sorted(set(keys))}}},
        }
        for name, keys in sorted(names.items())
    ]
