"""A finished trajectory as the dict that hooks receive."""

from __future__ import annotations

from typing import Any

import msgspec

from .. import vocabulary as v
from ..hooks import TraceData
from ..recorder import Recorder
from .owner import Owner

__all__ = ["trace_data"]


def trace_data(recorder: Recorder, trajectory: Owner) -> TraceData:
    """Return what `rollscope.hooks.TraceData` describes."""
    decoded = (msgspec.json.decode(message) for message in trajectory.conversation.messages)
    messages = [message if isinstance(message, dict) else {"content": message} for message in decoded]
    place, rewards = trajectory.coordinates, trajectory.rewards
    return {
        "id": trajectory.id,
        "run": recorder.identity.run.id,
        "step": place.step,
        "group": place.group,
        "index": place.index,
        "attempt": place.attempt,
        "policy_version": place.policy_version,
        "split": place.split,
        "agent": trajectory.agent,
        "outcome": trajectory.span.attributes.get(v.TRAJECTORY_OUTCOME),
        "messages": messages,
        "prompt": _last_text(messages[: _first_said(messages)], "user"),
        "generation": _last_text(messages, "assistant"),
        "reward": rewards[-1].value if rewards else None,
        "rewards": {reward.name: reward.value for reward in rewards},
        "metrics": _metrics(trajectory),
    }


def _metrics(trajectory: Owner) -> dict[str, Any]:
    numbers: dict[str, Any] = {
        "turns": trajectory.span.attributes.get(v.TRAJECTORY_TURN_COUNT),
        "generations": trajectory.conversation.generations,
        "input_tokens": trajectory.span.attributes.get(v.GEN_AI_USAGE_INPUT_TOKENS),
        "output_tokens": trajectory.span.attributes.get(v.GEN_AI_USAGE_OUTPUT_TOKENS),
    }
    numbers.update((name, value) for reward in trajectory.rewards for name, value in reward.components.items())
    return {name: value for name, value in numbers.items() if value is not None}


def _first_said(messages: list[dict[str, Any]]) -> int:
    return next((place for place, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))


def _last_text(messages: list[dict[str, Any]], role: str) -> str:
    for message in reversed(messages):
        if message.get("role") == role:
            content = message.get("content")
            return content if isinstance(content, str) else "" if content is None else msgspec.json.encode(content).decode()
    return ""
