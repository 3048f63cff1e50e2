"""The same conversions on JSON text, as attributes carry it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

import msgspec

from ._to_parts import openai_to_parts

_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class MessagesError(ValueError):
    """When an attribute that should hold messages is no JSON."""


def openai_json_to_parts_json(text: str, finish_reasons: Sequence[object] | None = None) -> str:
    """Return JSON of GenAI messages for JSON of OpenAI messages (a list, or a single message).

    Raises `MessagesError` when `text` is no JSON or too deep to handle.
    """
    messages = load_json(text)
    try:
        parts = openai_to_parts(messages if isinstance(messages, list) else [messages], finish_reasons)
        written = json.dumps(parts, ensure_ascii=False, separators=(",", ":"))
    except RecursionError as error:
        raise MessagesError("messages are nested too deep") from error
    return written if _LONE_SURROGATE.search(written) is None else json.dumps(parts, separators=(",", ":"))


def load_json(text: str) -> object:
    """Read JSON, also what strict readers refuse: NaN, a lone surrogate, a very large integer. Raises `MessagesError`."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        pass  # the standard library may read it
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MessagesError(f"messages are no JSON: {error}") from error
