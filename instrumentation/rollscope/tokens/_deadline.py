"""A time limit for what runs code of the user's: loading a tokenizer, and decoding with one that is no table of ours."""

from __future__ import annotations

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

from ._decoder import TokenizerError

T = TypeVar("T")

DEADLINE = 60.0
"""Seconds for loading a tokenizer, or for decoding one segment."""


_WORDS = "took longer than"


class TooSlowError(TokenizerError):
    """When a tokenizer took longer than it may; it had better not be asked again, as it may hang for ever."""

    @staticmethod
    def is_reason(text: str) -> bool:
        """Return whether `text`, why a segment was not decoded elsewhere, says this."""
        return _WORDS in text


def in_time(tokenizer: str, call: Callable[[], T], seconds: float | None = None) -> T:
    """Return what `call` returns, or raise what it raises; one that hangs is left to its thread. Raises `TooSlowError`."""
    limit = DEADLINE if seconds is None else seconds
    answer: SimpleQueue[tuple[T, None] | tuple[None, BaseException]] = SimpleQueue()

    def run() -> None:
        try:
            answer.put((call(), None))
        except BaseException as error:  # noqa: BLE001  # raised again by the one who waits
            answer.put((None, error))

    Thread(target=run, name="rollscope-tokenizer", daemon=True).start()
    try:
        result, error = answer.get(timeout=limit)
    except Empty:
        raise TooSlowError(f"tokenizer {tokenizer!r} {_WORDS} {limit:g} s") from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]  # either the result or the error is there
