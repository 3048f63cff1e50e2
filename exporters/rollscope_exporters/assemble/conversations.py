"""Generations of a trajectory, each with the whole history its model saw.

A generation records what is new: its history is the first `rl.messages.kept` messages of the context so far, then the recorded
ones, and what it produced joins the context. A program without rollscope records whole histories, which is the same with
nothing kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rollscope import vocabulary as v

from ..decode import integer
from ..records import Generation, Message, Span
from .messages import finish_reasons, input_messages, output_messages, tool_definitions

HISTORY_BYTES = 16 << 20
"""Histories repeat what came before, so their sum grows with the square of the turns. Beyond this sum, a generation's `input` leaves
out what it kept."""

_GENERATING = frozenset({v.SPAN_CHAT, "text_completion", "generate_content"})


class Conversation(NamedTuple):
    """The conversation of a trajectory."""

    generations: list[Generation]
    messages: list[Message]
    """As it stood at the end."""
    missing: list[str]
    """What could not be reconstructed, and why."""


def is_generation(span: Span) -> bool:
    """Return whether `span` is a model call."""
    found = span.attributes
    operation = found.get(v.GEN_AI_OPERATION_NAME)
    if operation is None:
        return v.GEN_AI_OUTPUT_MESSAGES in found and v.GEN_AI_REQUEST_MODEL in found
    return operation in _GENERATING


def generations_of(spans: Sequence[Span]) -> list[Span]:
    """Return the model calls in the order of the conversation."""
    return sorted([span for span in spans if is_generation(span)], key=lambda span: (_integer(span, v.CONTEXT_INDEX) or 0, span.start))


def conversation(spans: Sequence[Span], calls: Sequence[Span] | None = None) -> Conversation:
    """Reconstruct the conversation from the spans of one trajectory, root first; `calls` are its `generations_of`, found when not given."""
    if calls is None:
        calls = generations_of(spans)
    if not calls:
        return Conversation([], _told_by_root(spans), [])
    return _Replay().run(calls)


class _Replay:
    """The context as it grows from call to call."""

    def __init__(self) -> None:
        self.context: list[Message] = []
        self.size = 0
        self.spent = 0
        self.tools: list[Message] = []
        self.missing: list[str] = []

    def run(self, calls: Sequence[Span]) -> Conversation:
        generations = list(self._generations(calls))
        return Conversation(generations, self.context, self.missing)

    def _generations(self, calls: Sequence[Span]) -> Iterator[Generation]:
        expected = 0
        for position, span in enumerate(calls):
            index = _integer(span, v.CONTEXT_INDEX)
            if index is not None and index > expected:
                self.missing.append(f"generation {expected}" if index == expected + 1 else f"generations {expected} to {index - 1}")
            index = position if index is None else index
            expected = index + 1
            yield self._generation(span, index)

    def _generation(self, span: Span, index: int) -> Generation:
        recorded = input_messages(span)
        kept = _integer(span, v.MESSAGES_KEPT) or 0
        if kept > len(self.context):
            self.missing.append(f"{kept - len(self.context)} messages before generation {index}")
        history = self.context[:kept] + recorded
        output = output_messages(span)
        tools = tool_definitions(span)
        self.tools = self.tools if tools is None else tools
        whole = self._afford(span)
        self.context = history + output[:1]
        return Generation(
            span_id=span.span_id,
            index=index,
            turn=_integer(span, v.TURN_INDEX),
            model=str(span.attributes.get(v.GEN_AI_REQUEST_MODEL, "")),
            input=history if whole else recorded,
            left_out=0 if whole else len(history) - len(recorded),
            output=output,
            tools=self.tools,
            finish_reasons=finish_reasons(span),
            broken=bool(span.attributes.get(v.CONTEXT_BREAK, False)),
        )

    def _afford(self, span: Span) -> bool:
        self.size += _length(span, v.GEN_AI_INPUT_MESSAGES) + _length(span, v.GEN_AI_OUTPUT_MESSAGES)
        self.spent += self.size
        return self.spent <= HISTORY_BYTES


def _length(span: Span, name: str) -> int:
    value = span.attributes.get(name)
    return len(value) if isinstance(value, str) else 0


def _told_by_root(spans: Sequence[Span]) -> list[Message]:
    """An agent span may carry the conversation itself where its model calls were not recorded."""
    return [*input_messages(spans[0]), *output_messages(spans[0])[:1]] if spans else []


def _integer(span: Span, name: str) -> int | None:
    return integer(span.attributes.get(name))
