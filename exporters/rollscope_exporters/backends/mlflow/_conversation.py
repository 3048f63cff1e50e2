"""What several views of a trajectory agree on."""

from __future__ import annotations

from ...records import Message, Trajectory
from ._otlp import clean_text


def split_conversation(messages: list[Message]) -> tuple[list[Message], list[Message]]:
    """Return the prompt, up to the first message of the model, and everything from there on."""
    first = next((place for place, message in enumerate(messages) if message.get("role") == "assistant"), len(messages))
    return messages[:first], messages[first:]


def session_of(trajectory: Trajectory) -> str:
    """Return the session that a group's trajectories share, `step-12/task-3`; of a trajectory without step and group, itself."""
    step = "" if trajectory.step is None else f"step-{trajectory.step}"
    return clean_text("/".join(part for part in (step, trajectory.group or "") if part) or trajectory.id, 250)
