"""A softmax policy over a dozen actions: what the agent sees, what it can do, and the message that each action writes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from .tasks import FAMILIES, UNDEFINED, UNKNOWN, Task

Array: TypeAlias = npt.NDArray[np.float64]
Message: TypeAlias = dict[str, Any]
"""A chat message in OpenAI format."""
MAX_TURNS = 4

ACTIONS: tuple[str, ...] = (
    "answer_last", "answer_first_operand", "answer_undefined", "answer_unknown", "lookup_first", "lookup_second", "lookup_both",
    "lookup_careless", "calculate_first", "calculate_swapped", "calculate_next", "calculate_names", "calculate_broken",
)  # fmt: skip
FEATURES = len(FAMILIES) * 6


@dataclass
class Progress:
    """What the agent remembers of its trajectory."""

    results: list[str] = field(default_factory=list)
    """Results of tool calls so far, oldest first."""
    failed: bool = False
    """Whether the last call raised."""
    faults: int = 0
    """Calls whose arguments were malformed."""


def features(task: Task, progress: Progress) -> Array:
    """One-hot of what matters, shape `(FEATURES,)`: the family crossed with how far the work has come."""
    stage = 4 if progress.failed and not progress.faults else 5 if progress.failed else min(len(progress.results), 3)
    seen = np.zeros((len(FAMILIES), 6))
    seen[FAMILIES.index(task.family), stage] = 1.0
    return seen.ravel()


def probabilities(weights: Array, seen: Array) -> Array:
    """Softmax over actions. `weights` has shape `(FEATURES, actions)`, `seen` `(..., FEATURES)`."""
    logits = seen @ weights
    exponentials = np.exp(logits - logits.max(axis=-1, keepdims=True))
    result: Array = exponentials / exponentials.sum(axis=-1, keepdims=True)
    return result


def zero_weights() -> Array:
    """Every action equally likely, shape `(FEATURES, actions)`."""
    return np.zeros((FEATURES, len(ACTIONS)))


def base_weights() -> Array:
    """The policy training starts from: like a base model it has a faint idea which tool suits which task, and no more."""
    weights = zero_weights().reshape(len(FAMILIES), 6, len(ACTIONS))
    for family, tool in (("chain", "calculate_"), ("divide", "calculate_"), ("compare", "lookup_"), ("height", "lookup_")):
        for action, name in enumerate(ACTIONS):
            weights[FAMILIES.index(family), :, action] += 2.0 * name.startswith(tool)
            weights[FAMILIES.index(family), 1:, action] += 1.0 * name.startswith("answer_")
    return weights.reshape(FEATURES, len(ACTIONS))


def write_message(action: str, task: Task, progress: Progress, turn: int) -> Message:
    """Turn an action into the assistant's message, OpenAI format: an answer, or one or two tool calls."""
    if action.startswith("answer_"):
        return {"role": "assistant", "content": _answer(action, task, progress)}
    calls = [
        {"id": f"call_{turn}_{number}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for number, (name, arguments) in enumerate(_calls(action, task, progress))
    ]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def _answer(action: str, task: Task, progress: Progress) -> str:
    if action == "answer_undefined":
        return UNDEFINED
    if action == "answer_unknown":
        return UNKNOWN
    if action == "answer_last" and progress.results:
        return progress.results[-1]
    return f"{task.operands[0]:g}" if task.operands else "42"


def _calls(action: str, task: Task, progress: Progress) -> list[tuple[str, str]]:
    if action.startswith("lookup_"):
        return [("lookup", _json(name=name)) for name in _names(action, task)]
    return [("calculate", _arguments(action, task, progress))]


def _names(action: str, task: Task) -> tuple[str, ...]:
    names = task.names or (task.question[:12],)
    chosen = {
        "lookup_first": names[:1],
        "lookup_second": names[-1:],
        "lookup_both": names[:2],
        "lookup_careless": (names[0].upper() + "?",),
    }
    return chosen[action]


def _arguments(action: str, task: Task, progress: Progress) -> str:
    operation = task.operations[-1] if action == "calculate_next" and task.operations else (*task.operations, "+")[0]
    if action == "calculate_names":
        return _json(op=operation, a=task.names[0] if task.names else "the first number", b="the second")
    if action == "calculate_broken":
        return _json(op=operation, a=1)[:-4]
    first, second = _operands(action, task, progress)
    return _json(op=operation, a=first, b=second)


def _operands(action: str, task: Task, progress: Progress) -> tuple[float, float]:
    known = list(task.operands) or [float(result) for result in progress.results]
    padded = [*known, 0.0, 0.0]
    if action == "calculate_next":
        return (float(progress.results[-1]) if progress.results else padded[0]), padded[max(len(known) - 1, 0)]
    first, second = padded[0], padded[1]
    return (second, first) if action == "calculate_swapped" else (first, second)


def _json(**arguments: object) -> str:
    return json.dumps(arguments, ensure_ascii=False)
