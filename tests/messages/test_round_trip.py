"""OpenAI messages survive the way through GenAI parts letter by letter."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.messages import load_json, openai_json_to_parts_json, openai_to_parts, parts_to_openai
from rollscope.messages._equal import same

from .strategies import conversations, json_values

AIRLINE = Path(os.environ.get("ROLLSCOPE_TEST_DATA", Path(__file__).parents[3] / "shared" / "data")) / "airline_rollouts.jsonl"


@given(conversations)
def test_any_conversation_comes_back(conversation: list[object]) -> None:
    """Whatever stands in a list of messages comes back as it was, types and text exact, key order aside."""
    assert same(parts_to_openai(openai_to_parts(conversation)), conversation)


@given(conversations)
def test_any_conversation_comes_back_as_json(conversation: list[object]) -> None:
    """The conversion of JSON text is as exact as that of values."""
    text = json.dumps(conversation)
    assert same(parts_to_openai(load_json(openai_json_to_parts_json(text))), json.loads(text))


@given(st.lists(st.text(max_size=8), max_size=3), conversations)
def test_finish_reasons_do_not_enter_messages(reasons: list[str], conversation: list[object]) -> None:
    """A finish reason rides on the GenAI message and is gone from the OpenAI one."""
    assert same(parts_to_openai(openai_to_parts(conversation, reasons)), conversation)


@given(json_values, json_values)
def test_equality_is_that_of_json(left: object, right: object) -> None:
    """Two values are the same exactly when their JSON is, keys sorted."""
    assert same(left, right) == (json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True))


@pytest.mark.skipif(not AIRLINE.exists(), reason="the recorded airline conversations are not here")
def test_recorded_conversations_need_no_difference() -> None:
    """1,515 real messages with tool calls come back exactly, and the GenAI shapes alone carry them."""
    for line in AIRLINE.read_text().splitlines():
        conversation = json.loads(line)["messages"]
        parts = openai_to_parts(conversation)
        assert same(parts_to_openai(parts), conversation)
        assert not [message for message in parts if "rl.openai" in message]
