"""What the list of traces shows of a trajectory."""

from __future__ import annotations

from collections.abc import Mapping

from ...records import Trajectory
from ._conversation import split_conversation
from ._json import as_json
from ._otlp import clean_text
from ._tokens import TokenText

_LIMIT = 1000


def previews(trajectory: Trajectory) -> tuple[str, str]:
    """Return the task, and the last thing the model said or called."""
    prompt, rest = split_conversation(trajectory.messages or TokenText(trajectory.tokens).messages)
    asked = next((message for message in reversed(prompt) if message.get("role") == "user"), prompt[-1] if prompt else {})
    said = next((message for message in reversed(rest) if message.get("role") == "assistant"), {})
    return clean_text(_text(asked), _LIMIT), clean_text(_text(said), _LIMIT)


def _text(message: Mapping[str, object]) -> str:
    """Return text of a message; of one that only calls tools, the calls."""
    content, calls = message.get("content"), message.get("tool_calls")
    if isinstance(content, list):
        content = " ".join(str(part.get("text", f"[{part.get('type', 'part')}]")) for part in content if isinstance(part, Mapping))
    if content or not isinstance(calls, list):
        return str(content or "")
    return ", ".join(_call(call) for call in calls)


def _call(call: object) -> str:
    function = call.get("function") if isinstance(call, Mapping) else None
    return f"{function.get('name')}({function.get('arguments')})" if isinstance(function, Mapping) else as_json(call)
