"""What of a trajectory's message history is new.

A generation hands over its whole history; recorded is only what the context does not hold yet. The context is the history of the
latest generation followed by its output. When the history departs from it (an edited message, a truncated or compacted
history, an assistant message that came back changed), everything from the first difference on is recorded and the break is said.
A reader rebuilds every history from `kept` and the new messages in order of `number`.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import RLock
from typing import NamedTuple

from ..digests import blake2b
from ..jsonable import json_bytes

__all__ = ["Conversation", "History"]

_DIGEST_ABOVE = 64 << 10
"""A longer message (an image, usually) is remembered by its digest, so that an open trajectory stays small; a digest costs 1 µs/KB."""


class History(NamedTuple):
    """The history of one generation against the context so far."""

    number: int
    """Of the generation within its trajectory, from 0."""
    kept: int
    """Messages of the context that stay."""
    broken: bool
    """Whether the context held more than was kept."""
    new: list[bytes]
    """The other messages, JSON each."""


class Conversation:
    """The context of one trajectory: thread-safe, holds no object of the caller."""

    __slots__ = ("__weakref__", "_context", "_lock", "_messages", "_next", "_tools")

    def __init__(self, *, keep: bool = False) -> None:
        self._lock = RLock()
        self._context: list[bytes] = []
        self._messages: list[bytes] | None = [] if keep else None
        self._next = 0
        self._tools: bytes = b"[]"

    @property
    def generations(self) -> int:
        """How many generations were begun."""
        return self._next

    @property
    def messages(self) -> list[bytes]:
        """The context as JSON messages, where it was made with `keep`."""
        return list(self._messages or ())

    def forget(self) -> None:
        """Hold no message any more; a history that comes even so is recorded whole."""
        with self._lock:
            self._context, self._messages, self._tools = [], None, b"[]"

    def begin(self, messages: object) -> History:
        """Number a generation and return what its history adds. `messages`: list of OpenAI messages, one message, a prompt, or None.

        Raises `TypeError` when the history cannot be read without being consumed.
        """
        encoded = [json_bytes(message) for message in as_messages(messages, "user")]
        marks = [_mark(message) for message in encoded]
        with self._lock:
            number, context = self._next, self._context
            self._next += 1
            if messages is None:
                return History(number, len(context), False, [])
            kept = _common(context, marks)
            self._context = marks
            if self._messages is not None:
                self._messages = encoded
        return History(number, kept, kept < len(context), encoded[kept:])

    def finish(self, number: int | None, output: object) -> list[bytes]:
        """Let the output of generation `number` join the context and return it as JSON messages; None lets nothing join.

        Of several choices the first one joins. The output of a generation that another one has overtaken joins nothing: the
        latest history is the context.
        """
        encoded = [json_bytes(message) for message in as_messages(output, "assistant")]
        with self._lock:
            if encoded and number == self._next - 1:
                self._context = [*self._context, _mark(encoded[0])]
                if self._messages is not None:
                    self._messages = [*self._messages, encoded[0]]
        return encoded

    def tools(self, definitions: object) -> bytes | None:
        """Return the tool definitions as JSON when they are others than last time, else None."""
        if definitions is None:
            return None
        encoded = json_bytes(definitions)
        mark = _mark(encoded)
        with self._lock:
            if mark == self._tools:
                return None
            self._tools = mark
        return encoded


def as_messages(messages: object, role: str) -> Sequence[object]:
    """Return a history as a sequence of messages; a bare string is one message of `role`.

    Raises `TypeError` for an iterator: reading it would take it from the caller.
    """
    if messages is None:
        return ()
    if isinstance(messages, str):
        return ({"role": role, "content": messages},)
    if isinstance(messages, (list, tuple)):
        return messages
    if isinstance(messages, dict) or hasattr(messages, "model_dump"):
        return (messages,)
    if hasattr(messages, "__len__") and hasattr(messages, "__getitem__"):
        return list(messages)  # type: ignore[call-overload, no-any-return]  # a numpy array of messages, as verl keeps them
    raise TypeError(f"messages must be a list of messages, one message or a string, not {type(messages).__name__}")


def _mark(encoded: bytes) -> bytes:
    return encoded if len(encoded) <= _DIGEST_ABOVE else blake2b(encoded, digest_size=16).digest()


def _common(before: list[bytes], now: list[bytes]) -> int:
    for place, (old, new) in enumerate(zip(before, now)):  # noqa: B905  # the shorter one ends the common part
        if old != new:
            return place
    return min(len(before), len(now))
