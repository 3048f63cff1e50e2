"""Keeps the history shown at one generation within a limit."""

from __future__ import annotations

import json

ROOT_HAS_IT = "are not repeated here; the root of the trace has them all"
TOO_LONG = "are left out here: the conversation is longer than attribute_bytes allows"


def fold_history(messages: list[dict[str, object]], limit: int, why: str = ROOT_HAS_IT) -> list[dict[str, object]]:
    """Return `messages`, or when their JSON is longer than `limit` characters: the first, a note, and as many of the last as fit."""
    sizes = [len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages]
    if sum(sizes) <= limit or len(messages) < 3:
        return messages
    room, first = limit - sizes[0], len(messages) - 1
    room -= sizes[first]
    while first > 1 and sizes[first - 1] <= room:
        first -= 1
        room -= sizes[first]
    if first == 1:
        return messages
    folded = sum(sizes[1:first])
    note = f"[{first - 1} earlier messages, {folded} characters, {why}]"
    return [messages[0], {"role": "system", "content": note}, *messages[first:]]
