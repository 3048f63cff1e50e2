"""Messages and tool definitions on one span, in whichever generation of `gen_ai.*` they were written, as OpenAI messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollscope import vocabulary as v
from rollscope.messages import MessagesError, load_json, parts_to_openai, tools_to_openai

from ..records import Message, Span


def input_messages(span: Span) -> list[Message]:
    """Return input messages recorded on `span`, system instructions first."""
    recorded = _openai(span.attributes.get(v.GEN_AI_INPUT_MESSAGES))
    system = load(span.attributes.get(v.GEN_AI_SYSTEM_INSTRUCTIONS))
    if isinstance(system, list) and system:
        recorded = _messages(parts_to_openai([{"role": "system", "parts": system}])) + recorded
    return recorded or [_of_event(role, attributes) for name, attributes in _events(span) if (role := v.EVENT_MESSAGES.get(name))]


def output_messages(span: Span) -> list[Message]:
    """Return messages the model produced, one a choice."""
    recorded = _openai(span.attributes.get(v.GEN_AI_OUTPUT_MESSAGES))
    return recorded or [_of_event("assistant", attributes) for name, attributes in _events(span) if name == v.EVENT_CHOICE]


def tool_definitions(span: Span) -> list[Message] | None:
    """Return tools offered by `span` in OpenAI format, None where it says nothing about them."""
    found = load(span.attributes.get(v.GEN_AI_TOOL_DEFINITIONS))
    return tools_to_openai(found) if isinstance(found, list) else None


def finish_reasons(span: Span) -> list[str]:
    """Return why generation ended, one a choice."""
    found = span.attributes.get(v.GEN_AI_RESPONSE_FINISH_REASONS)
    if isinstance(found, list):
        return [str(reason) for reason in found]
    messages = load(span.attributes.get(v.GEN_AI_OUTPUT_MESSAGES))
    choices: Iterable[object] = messages if isinstance(messages, list) else (a for name, a in _events(span) if name == v.EVENT_CHOICE)
    return [str(choice["finish_reason"]) for choice in choices if isinstance(choice, dict) and choice.get("finish_reason")]


def load(value: object) -> object:
    """Return the attribute value that may be structured or JSON text; text that is no JSON stays text."""
    if not isinstance(value, str):
        return value
    try:
        return load_json(value)
    except MessagesError:
        return value


def _openai(value: object) -> list[Message]:
    found = load(value)
    if found is None:
        return []
    return _messages(parts_to_openai(found if isinstance(found, list) else [found]))


def _messages(found: Iterable[object]) -> list[Message]:
    return [message if isinstance(message, dict) else {"role": "user", "content": message} for message in found]


def _events(span: Span) -> Iterable[tuple[str, Mapping[str, object]]]:
    return ((name, attributes) for _, name, attributes in span.events)


def _of_event(role: str, attributes: Mapping[str, object]) -> Message:
    inner = load(attributes.get("message"))
    said: Mapping[str, object] = inner if isinstance(inner, dict) else attributes
    message: Message = {"role": said.get("role", role), "content": said.get("content")}
    calls = load(said.get("tool_calls"))
    if isinstance(calls, list) and calls:
        message["tool_calls"] = calls
    if role == "tool":
        message["tool_call_id"] = said.get("id") or said.get("tool_call_id")
    return message
