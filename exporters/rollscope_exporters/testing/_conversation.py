"""Turns a finished conversation into the spans and generations that recording it would have left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator

from rollscope import vocabulary as v

from ..records import Generation, Span

_MILLISECOND = 1_000_000


def conversation_spans(
    trace_id: str, messages: list[dict[str, object]], start: int, identity: dict[str, object], resource: dict[str, object]
) -> list[Span]:
    """Root, one turn per assistant message, its generation, and a tool span per tool message that answers it."""
    end = start + (len(messages) + 2) * 10 * _MILLISECOND
    outcome = identity.get(v.TRAJECTORY_OUTCOME, "completed")
    root = Span(
        trace_id=trace_id,
        span_id=_span_id(trace_id, "root"),
        name=f"{v.SPAN_INVOKE_AGENT} {identity.get(v.GEN_AI_AGENT_NAME, 'agent')}",
        start=start,
        end=end,
        status=v.STATUS_ERROR if outcome in {"failed", "aborted"} else 1,
        attributes={**identity, v.GEN_AI_OPERATION_NAME: v.SPAN_INVOKE_AGENT},
        resource=resource,
        scope=v.SCOPE_OWN,
    )
    spans = [root]
    for turn, (position, answers) in enumerate(_turns(messages)):
        begin = start + (position + 1) * 10 * _MILLISECOND
        finish = begin + (1 + len(answers)) * 10 * _MILLISECOND
        turn_span = _child(root, v.SPAN_TURN, f"turn-{turn}", begin, finish, {v.TURN_INDEX: turn}, identity)
        spans.append(turn_span)
        said = {
            v.GEN_AI_OPERATION_NAME: v.SPAN_CHAT, v.CONTEXT_INDEX: turn, v.GEN_AI_USAGE_INPUT_TOKENS: 100 * (turn + 1),
            v.GEN_AI_USAGE_OUTPUT_TOKENS: 12,
        }  # fmt: skip
        spans.append(_child(turn_span, f"{v.SPAN_CHAT} qwen", f"chat-{turn}", begin, begin + 8 * _MILLISECOND, said, identity))
        for order, answer in enumerate(answers):
            at = begin + (order + 1) * 10 * _MILLISECOND
            spans.append(_tool(turn_span, f"tool-{turn}-{order}", at, messages, messages[answer], identity))
    return spans


def generations_of(messages: list[dict[str, object]], spans: list[Span], tools: list[dict[str, object]]) -> list[Generation]:
    """One generation per assistant message, with the whole history it saw."""
    chats = [span for span in spans if span.attributes.get(v.GEN_AI_OPERATION_NAME) == v.SPAN_CHAT]
    return [
        Generation(
            span_id=chat.span_id,
            index=index,
            turn=index,
            model="qwen",
            input=messages[:position],
            output=[messages[position]],
            tools=tools,
            finish_reasons=["tool_calls" if messages[position].get("tool_calls") else "stop"],
        )
        for index, (chat, (position, _)) in enumerate(zip(chats, _turns(messages), strict=True))
    ]


def _turns(messages: list[dict[str, object]]) -> Iterator[tuple[int, list[int]]]:
    """Yield the position of each assistant message and of the tool messages right after it."""
    for position, message in enumerate(messages):
        if message.get("role") != "assistant":
            continue
        answers = []
        for later in range(position + 1, len(messages)):
            if messages[later].get("role") != "tool":
                break
            answers.append(later)
        yield position, answers


def _tool(turn: Span, key: str, at: int, messages: list[dict[str, object]], answer: dict[str, object], identity: dict[str, object]) -> Span:
    name = str(answer.get("name", "tool"))
    attributes = {
        v.GEN_AI_OPERATION_NAME: v.SPAN_EXECUTE_TOOL,
        v.GEN_AI_TOOL_NAME: name,
        v.GEN_AI_TOOL_CALL_ID: answer.get("tool_call_id", ""),
        v.GEN_AI_TOOL_CALL_ARGUMENTS: _arguments(messages, answer.get("tool_call_id")),
        v.GEN_AI_TOOL_CALL_RESULT: answer.get("content", ""),
    }
    return _child(turn, f"{v.SPAN_EXECUTE_TOOL} {name}", key, at, at + 5 * _MILLISECOND, attributes, identity)


def _arguments(messages: list[dict[str, object]], call_id: object) -> str:
    for message in messages:
        calls = message.get("tool_calls")
        for call in calls if isinstance(calls, list) else []:
            if call.get("id") == call_id:
                arguments = call["function"]["arguments"]
                return arguments if isinstance(arguments, str) else json.dumps(arguments)
    return "{}"


def _child(parent: Span, name: str, key: str, start: int, end: int, own: dict[str, object], identity: dict[str, object]) -> Span:
    return Span(
        trace_id=parent.trace_id,
        span_id=_span_id(parent.trace_id, key),
        parent_id=parent.span_id,
        name=name,
        start=start,
        end=end,
        status=1,
        attributes={**own, **identity},
        resource=parent.resource,
        scope=v.SCOPE_OWN,
    )


def _span_id(trace_id: str, key: str) -> str:
    return hashlib.sha256(f"{trace_id}/{key}".encode()).hexdigest()[:16]
