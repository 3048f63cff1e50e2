"""Token segments as text: attributes of their span, and messages where nothing else was recorded."""

from __future__ import annotations

from collections.abc import Iterable

from rollscope import vocabulary as v

from ...records import Message, TokenSegment

_ROLES = {"prompt": "user", "output": "assistant"}


def tokens_by_span(segments: Iterable[TokenSegment]) -> dict[str, list[TokenSegment]]:
    found: dict[str, list[TokenSegment]] = {}
    for segment in segments:
        found.setdefault(segment.span_id, []).append(segment)
    return found


def token_attributes(segments: Iterable[TokenSegment]) -> dict[str, object]:
    """Count and text of the segments by role, or why there is no text."""
    found: dict[str, object] = {}
    for segment in segments:
        key = f"{v.NAMESPACE_TOKENS}{segment.role}"
        before = found.get(f"{key}.count", 0)
        found[f"{key}.count"] = segment.count + (before if isinstance(before, int) else 0)
        if segment.text is not None:
            found[f"{key}.text"] = f"{found.get(f'{key}.text', '')}{segment.text}"
        elif segment.undecoded:
            found[f"{key}.undecoded"] = segment.undecoded
    return found


def token_usage(segments: list[TokenSegment]) -> tuple[int | None, int | None]:
    """Return tokens read and written, as far as the segments say."""
    read = next((segment.kept + segment.count for segment in reversed(segments) if segment.role == "prompt"), None)
    written = sum(segment.count for segment in segments if segment.role == "output") if segments else None
    return read, written


class TokenText:
    """The conversation of a trajectory as its decoded segments tell it: prompts as the user's words, outputs as the model's.

    The segments know no roles beyond that; the template's own marks stay visible in the text.
    """

    def __init__(self, segments: Iterable[TokenSegment]) -> None:
        self.messages: list[Message] = []
        self._starts: list[int] = []
        self._seen: dict[str, tuple[list[Message], list[Message]]] = {}
        for segment in segments:
            self._add(segment)

    def of(self, span_id: str) -> tuple[list[Message], list[Message]]:
        """Return history and output of one generation; empty where it has no text."""
        return self._seen.get(span_id, ([], []))

    def _add(self, segment: TokenSegment) -> None:
        while self._starts and self._starts[-1] >= segment.kept:
            self._starts.pop()
            self.messages.pop()
        history, output = self._seen.setdefault(segment.span_id, ([], []))
        if segment.text is None:
            return
        message: Message = {"role": _ROLES.get(segment.role, "user"), "content": segment.text}
        if segment.role == "output":
            output.append(message)
            history[:] = history or self.messages
        else:
            history[:] = [*self.messages, message]
        self.messages.append(message)
        self._starts.append(segment.kept)
