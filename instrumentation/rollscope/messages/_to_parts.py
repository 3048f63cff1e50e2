"""OpenAI chat messages → GenAI messages.

What the GenAI shapes can say is said in them. Whatever the way back would get wrong (a missing `content`, a list with one
text in it, a key of the same name) rides along as the difference, under `rl.openai`, so the round trip is exact by
construction and not by the number of cases thought of.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ._content import to_part
from ._equal import same
from ._to_openai import ARGUMENTS, DIFFERENCE, REASONING_KEY, REASONING_KEYS, message_to_openai

_FINISH_REASONS = {"tool_calls": "tool_call", "function_call": "tool_call"}
_TAKEN = frozenset({"parts", "finish_reason", DIFFERENCE})


def openai_to_parts(messages: Iterable[object], finish_reasons: Sequence[object] | None = None) -> list[dict[str, object]]:
    """Return GenAI messages (`role`, `parts`, `name`, …) for OpenAI messages, in order and one for one.

    `finish_reasons` belongs to output messages, one a choice; OpenAI's `tool_calls` becomes `tool_call`.
    """
    converted = [_message(message) for message in messages]
    for message, reason in zip(converted, finish_reasons or (), strict=False):
        message["finish_reason"] = _FINISH_REASONS.get(reason, reason) if isinstance(reason, str) else reason
    return converted


def _message(message: object) -> dict[str, object]:
    if not isinstance(message, dict):
        return {"role": "user", "parts": [], DIFFERENCE: {"value": message}}
    converted: dict[str, object] = {"role": message.get("role", ""), "parts": _parts(message)}
    for key, value in message.items():
        if key not in converted and key not in _TAKEN and not _in_parts(message, key):
            converted[key] = value
    back = message_to_openai(converted)
    if difference := _difference(back, message):
        converted[DIFFERENCE] = difference
    return converted


def _parts(message: dict[str, object]) -> list[dict[str, object]]:
    if message.get("role") == "tool":
        return [_tool_response(message)]
    parts = [_reasoning(key, message[key]) for key in REASONING_KEYS if _in_parts(message, key)]
    parts.extend(_content(message.get("content")))
    calls = message.get("tool_calls")
    if isinstance(calls, list):
        parts.extend(_tool_call(call) for call in calls)
    return parts


def _in_parts(message: dict[str, object], key: str) -> bool:
    """Return whether the value under `key` is told by the message's parts."""
    if key == "content":
        return True
    if message.get("role") == "tool":
        return key == "tool_call_id"
    if key == "tool_calls":
        calls = message[key]
        return isinstance(calls, list) and len(calls) > 0
    return key in REASONING_KEYS and isinstance(message.get(key), str)


def _content(content: object) -> list[dict[str, object]]:
    if isinstance(content, str):
        return [{"type": "text", "content": content}]
    return [to_part(piece) for piece in content] if isinstance(content, list) else []


def _reasoning(key: str, text: object) -> dict[str, object]:
    part: dict[str, object] = {"type": "reasoning", "content": text}
    return part if key == REASONING_KEYS[0] else {**part, REASONING_KEY: key}


def _tool_response(message: dict[str, object]) -> dict[str, object]:
    part: dict[str, object] = {"type": "tool_call_response", "response": message.get("content")}
    if "tool_call_id" in message:
        part["id"] = message["tool_call_id"]
    return part


def _tool_call(call: object) -> dict[str, object]:
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(call, dict) or not isinstance(function, dict):
        return {"type": "tool_call", "name": ""}
    part = {key: value for key, value in call.items() if key not in ("type", "function", "name", "arguments", ARGUMENTS)}
    part.update(function)
    part["type"] = "tool_call"
    if "arguments" in function and not isinstance(function["arguments"], str):
        part[ARGUMENTS] = "value"
    return part


def _difference(back: dict[str, object], message: dict[str, object]) -> dict[str, object]:
    wrong = {key: value for key, value in message.items() if key not in back or not same(back[key], value)}
    extra = [key for key in back if key not in message]
    return ({"set": wrong} if wrong else {}) | ({"drop": extra} if extra else {})
