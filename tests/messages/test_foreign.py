"""GenAI messages of programs without rollscope become OpenAI messages that a chat view can show."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.messages import parts_to_openai, tools_to_openai

from .strategies import json_values


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            {
                "role": "assistant",
                "parts": [{"type": "tool_call", "id": "c", "name": "f", "arguments": {"a": "你"}}],
                "finish_reason": "stop",
            },
            [
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"a": "你"}'}}],
                }
            ],
        ),
        (
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "result": {"ok": True}}]},
            [{"role": "tool", "tool_call_id": "c", "content": '{"ok": true}'}],
        ),
        (
            {"role": "tool", "parts": [{"type": "tool_call_response", "id": i, "response": i} for i in ("a", "b")]},
            [{"role": "tool", "tool_call_id": i, "content": i} for i in ("a", "b")],
        ),
        (
            {"role": "user", "parts": [{"type": "tool_call_response", "id": "a", "response": "r"}, {"type": "text", "content": "so?"}]},
            [{"role": "tool", "tool_call_id": "a", "content": "r"}, {"role": "user", "content": "so?"}],
        ),
        (
            {"role": "assistant", "parts": [{"type": "reasoning", "content": "a"}, {"type": "reasoning", "content": "b"}]},
            [{"role": "assistant", "reasoning_content": "ab", "content": None}],
        ),
        (
            {"role": "assistant", "parts": [{"type": "text", "content": "a"}, {"type": "compaction", "id": "x"}]},
            [{"role": "assistant", "content": [{"type": "text", "text": "a"}, {"type": "compaction", "id": "x"}]}],
        ),
        ({"role": "user", "content": "OpenAI-shaped already"}, [{"role": "user", "content": "OpenAI-shaped already"}]),
        ({"role": "user", "parts": "bare"}, [{"role": "user", "content": "bare"}]),
        ({"role": "user", "parts": ["bare"]}, [{"role": "user", "content": "bare"}]),
        ("just text", [{"role": "user", "content": "just text"}]),
        (
            {
                "role": "user",
                "parts": [{"type": "blob", "modality": "image", "content": "AA=="}, {"type": "blob", "modality": "video", "content": "A"}],
            },
            [
                {
                    "role": "user",
                    "content": [
                        {"type": "image_url", "image_url": {"url": "data:application/octet-stream;base64,AA=="}},
                        {"type": "blob", "modality": "video", "content": "A"},
                    ],
                }
            ],
        ),
    ],
)
def test_foreign_messages_take_the_nearest_shape(message: object, expected: list[object]) -> None:
    """Objects become JSON text, tool results messages of their own, and unknown parts stay visible."""
    assert parts_to_openai([message]) == expected


_parts = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "tool_call", "tool_call_response", "reasoning", "blob", "uri", "file", "server_tool_call", ""])},
    optional=dict.fromkeys(("content", "id", "name", "arguments", "response", "result", "uri", "modality", "rl.openai"), json_values),
)


@given(st.lists(json_values | st.fixed_dictionaries({"parts": st.lists(_parts | json_values) | json_values, "role": json_values})))
def test_nothing_foreign_raises(messages: list[object]) -> None:
    """Whatever a foreign program puts there, a list of messages comes out."""
    assert isinstance(parts_to_openai(messages), list)


def test_flat_tool_definitions_become_nested() -> None:
    """The GenAI form of a tool definition becomes OpenAI's; OpenAI's stays; what names nothing stays."""
    nested = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
    flat = {"type": "function", "name": "f", "parameters": {"type": "object"}}
    assert tools_to_openai([flat, nested, {"type": "web_search"}, "x"]) == [nested, nested, {"type": "web_search"}]
