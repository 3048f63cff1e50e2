"""What can be counted about a trajectory."""

from __future__ import annotations

from collections.abc import Sequence

from rollscope import vocabulary as v

from ..records import Span, TokenSegment


def outcome(root: Span) -> str:
    """Return how the trajectory ended: its own word, else what the root span shows."""
    told = root.attributes.get(v.TRAJECTORY_OUTCOME)
    if isinstance(told, str) and told:
        return told
    if root.attributes.get(v.ABORTED):
        return "aborted"
    if root.attributes.get(v.CANCELLED):
        return "cancelled"
    return "failed" if root.failed else "completed"


def count(spans: Sequence[Span], calls: Sequence[Span], tokens: Sequence[TokenSegment]) -> dict[str, float]:
    """Return numbers of a trajectory: duration in seconds, turns, generations, tool calls and errors, tokens in and out.

    `calls` are those of `spans` that are model calls.
    """
    tools = [span for span in spans if span.is_tool_call]
    numbers: dict[str, float] = {
        "duration": (spans[0].end - spans[0].start) / 1e9,
        "turns": _turns(spans, len(calls)),
        "generations": len(calls),
        "tool_calls": len(tools),
        "tool_errors": len([span for span in tools if span.failed]),
    }
    for name, attribute, role in (
        ("input_tokens", v.GEN_AI_USAGE_INPUT_TOKENS, "prompt"),
        ("output_tokens", v.GEN_AI_USAGE_OUTPUT_TOKENS, "output"),
    ):
        told = [value for span in calls if isinstance(value := span.attributes.get(attribute), int)]
        seen = [] if told else [segment.count for segment in tokens if segment.role == role]
        if told or seen:
            numbers[name] = sum(told or seen)
    return numbers


def _turns(spans: Sequence[Span], generations: int) -> float:
    told = spans[0].attributes.get(v.TRAJECTORY_TURN_COUNT)
    if isinstance(told, int):
        return told
    return len([span for span in spans if span.name == v.SPAN_TURN]) or generations
