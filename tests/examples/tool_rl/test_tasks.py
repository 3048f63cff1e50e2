"""Tasks and tools of the demo."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.tool_rl import tools
from examples.tool_rl.policy import ACTIONS, MAX_TURNS, Progress, write_message
from examples.tool_rl.tasks import FAMILIES, Task, make_task, score

_GOOD_LINES = {
    "chain": ["calculate_first", "calculate_next", "answer_last"],
    "divide": ["calculate_first", "answer_last"],
    "compare": ["lookup_both", "calculate_first", "answer_last"],
    "height": ["lookup_first", "answer_last"],
}


def play(task: Task, actions: list[str]) -> dict[str, float]:
    """Rewards of a fixed line of actions, errors answered by the fitting word."""
    progress, answer = Progress(), None
    for turn, action in enumerate(actions):
        if progress.failed:
            action = {"divide": "answer_undefined", "height": "answer_unknown"}[task.family]
        message = write_message(action, task, progress, turn)
        if message["content"] is not None:
            answer = message["content"]
            break
        for call in message["tool_calls"]:
            try:
                progress.results.append(tools.call(call["function"]["name"], call["function"]["arguments"]))
            except (ZeroDivisionError, KeyError):
                progress.failed = True
    return score(task, answer, len(progress.results), progress.faults)


@given(seed=st.integers(0, 50), number=st.integers(0, 400), split=st.sampled_from(["train", "validation"]))
def test_every_task_can_be_solved_within_the_turns(seed: int, number: int, split: str) -> None:
    """There is a line of actions that earns the whole reward for the answer."""
    task = make_task(seed, split, number)
    line = _GOOD_LINES[task.family]
    assert len(line) <= MAX_TURNS
    assert play(task, line)["answer"] > 0


@given(seed=st.integers(0, 50), number=st.integers(0, 400), action=st.sampled_from(ACTIONS))
def test_every_action_writes_a_message(seed: int, number: int, action: str) -> None:
    """Any action in any task gives an answer or well-formed tool calls, whatever their arguments."""
    message = write_message(action, make_task(seed, "train", number), Progress(), 0)
    assert message["role"] == "assistant"
    assert (message["content"] is None) == bool(message.get("tool_calls"))


def test_a_task_follows_from_its_seed_and_number() -> None:
    """The same seed, split and number give the same task; families take turns."""
    assert make_task(3, "train", 7) == make_task(3, "train", 7)
    assert make_task(3, "train", 7) != make_task(4, "train", 7)
    assert tuple(make_task(0, "train", number).family for number in range(4)) == FAMILIES


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("calculate", '{"op": "/", "a": 1, "b": 0}', ZeroDivisionError),
        ("calculate", '{"op": "+", "a": "x", "b": 1}', TypeError),
        ("calculate", '{"op": "+", "a"', json.JSONDecodeError),
        ("lookup", '{"name": "Atlantis Peak"}', KeyError),
    ],
)
def test_tools_fail_for_real(name: str, arguments: str, error: type[Exception]) -> None:
    """Division by zero, an unknown key and malformed arguments raise what Python raises."""
    with pytest.raises(error):
        tools.call(name, arguments)


def test_numbers_are_written_alike() -> None:
    """Whole results lose their point, others keep two decimals at most."""
    assert [tools.number(value) for value in (4.0, 2.5, 1 / 3, -0.0)] == ["4", "2.5", "0.33", "0"]
