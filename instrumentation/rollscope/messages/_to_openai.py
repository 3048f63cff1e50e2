"""GenAI messages → OpenAI chat messages: ours exactly as they were recorded, those of foreign programs in the nearest shape."""

from __future__ import annotations

import json
from collections.abc import Iterable

from .. import vocabulary as v
from ._content import to_content

DIFFERENCE = v.PART_OPENAI
"""What the way back would get wrong: `{"set": {...}, "drop": [...]}`, or `{"value": ...}` for what was no object."""
ARGUMENTS = v.PART_ARGUMENTS
"""Says that the arguments of a tool call stood as a JSON value, not as text."""
REASONING_KEYS = ("reasoning_content", "reasoning")
REASONING_KEY = v.PART_KEY
"""Under which key of the message the reasoning stood, when not under the first."""

_ANSWERS = ("response", "result")
"""`result` stands in older GenAI examples and in what follows them."""
_PART_KEYS = frozenset({"type", "id", "name", "arguments", ARGUMENTS})
_MESSAGE_KEYS = frozenset({"parts", "finish_reason", DIFFERENCE})
_CALL_KEYS = frozenset({"index", "extra_content"})
"""Keys known to stand beside `function` in a tool call, not inside it."""


def parts_to_openai(messages: Iterable[object]) -> list[object]:
    """Return OpenAI messages for GenAI messages.

    Exact for what `openai_to_parts` made. A foreign message gives one OpenAI message, and one more for each tool result
    in it; objects where OpenAI wants text become JSON text, and parts of unknown type stay in `content` as they are.
    """
    converted: list[object] = []
    for message in messages:
        converted.extend(_messages(message))
    return converted


def tools_to_openai(definitions: Iterable[object]) -> list[dict[str, object]]:
    """Return OpenAI tool definitions for GenAI ones (`{"type": "function", "name": …}`); what is OpenAI-shaped already stays."""
    return [_tool(definition) for definition in definitions if isinstance(definition, dict)]


def message_to_openai(message: dict[str, object]) -> dict[str, object]:
    """One GenAI message that was one OpenAI message, its recorded difference not yet applied."""
    parts = _part_list(message.get("parts"))
    converted = {key: value for key, value in message.items() if key not in _MESSAGE_KEYS}
    if message.get("role") == "tool" and len(parts) == 1 and parts[0].get("type") == "tool_call_response":
        converted.update(_tool_result(parts[0]))
        return converted
    content: list[dict[str, object]] = []
    calls: list[dict[str, object]] = []
    for part in parts:
        kind = part.get("type")
        if kind == "tool_call":
            calls.append(_tool_call(part))
        elif kind == "reasoning":
            key = str(part.get(REASONING_KEY, REASONING_KEYS[0]))
            converted[key] = f"{converted[key]}{part.get('content')}" if key in converted else part.get("content")
        else:
            content.append(part)
    converted["content"] = _content(content)
    if calls:
        converted["tool_calls"] = calls
    return converted


def _messages(message: object) -> list[object]:
    if not isinstance(message, dict):
        return [{"role": "user", "content": _text(message)}]
    difference = message.get(DIFFERENCE)
    if isinstance(difference, dict):
        return [_recorded(message, difference)]
    if "parts" not in message:
        return [dict(message)]
    parts = _part_list(message["parts"])
    answers = [part for part in parts if part.get("type") == "tool_call_response"]
    if not answers or (message.get("role") == "tool" and len(parts) == 1):
        return [message_to_openai(message)]
    converted: list[object] = [{"role": "tool", **_tool_result(part)} for part in answers]
    if others := [part for part in parts if part.get("type") != "tool_call_response"]:
        converted.append(message_to_openai({**message, "parts": others}))
    return converted


def _recorded(message: dict[str, object], difference: dict[str, object]) -> object:
    if "value" in difference:
        return difference["value"]
    dropped, changed = difference.get("drop"), difference.get("set")
    converted = message_to_openai(message)
    for key in dropped if isinstance(dropped, list) else ():
        converted.pop(key, None)
    return converted | changed if isinstance(changed, dict) else converted


def _part_list(parts: object) -> list[dict[str, object]]:
    if not isinstance(parts, list):
        parts = [] if parts is None else [parts]
    return [part if isinstance(part, dict) else {"type": "text", "content": _text(part)} for part in parts]


def _content(parts: list[dict[str, object]]) -> object:
    if not parts:
        return None
    if len(parts) == 1 and parts[0].keys() == {"type", "content"} and parts[0]["type"] == "text":
        return parts[0]["content"]
    return [to_content(part) for part in parts]


def _tool_call(part: dict[str, object]) -> dict[str, object]:
    arguments = part.get("arguments", {})
    if part.get(ARGUMENTS) != "value" and not isinstance(arguments, str):
        arguments = _text(arguments)
    call = {key: part[key] for key in ("id", *_CALL_KEYS) if key in part}
    extra = {key: value for key, value in part.items() if key not in _PART_KEYS and key not in _CALL_KEYS}
    return {**call, "type": "function", "function": {"name": part.get("name"), "arguments": arguments, **extra}}


def _tool_result(part: dict[str, object]) -> dict[str, object]:
    answer = next((part[key] for key in _ANSWERS if key in part), None)
    plain = answer is None or isinstance(answer, str) or _is_content(answer)
    result: dict[str, object] = {"content": answer if plain else _text(answer)}
    return result | ({"tool_call_id": part["id"]} if "id" in part else {})


def _is_content(answer: object) -> bool:
    return isinstance(answer, list) and all(isinstance(part, dict) and isinstance(part.get("type"), str) for part in answer)


def _tool(definition: dict[str, object]) -> dict[str, object]:
    if "function" in definition or "name" not in definition:
        return dict(definition)
    return {"type": "function", "function": {key: value for key, value in definition.items() if key != "type"}}


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
