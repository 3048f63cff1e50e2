"""Tasks that cannot be answered without tools, and how an answer is scored."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from .tools import HEIGHTS, calculate, number

Family = Literal["chain", "divide", "compare", "height"]
FAMILIES: tuple[Family, ...] = ("chain", "divide", "compare", "height")

UNDEFINED = "undefined"
UNKNOWN = "unknown"
_LOST = ("Atlantis Peak", "Mount Doom", "花果山")


@dataclass(frozen=True)
class Task:
    """One prompt: its text, what a policy may see of it, and the right answer."""

    id: str
    family: Family
    question: str
    operands: tuple[float, ...]
    operations: tuple[str, ...]
    names: tuple[str, ...]
    answer: str


def make_task(seed: int, split: str, number_of_task: int) -> Task:
    """Draw a task; the same arguments always give the same one."""
    rng = np.random.default_rng([seed, {"train": 0, "validation": 1}[split], number_of_task])
    family = FAMILIES[number_of_task % len(FAMILIES)]
    return _MAKERS[family](f"{split}-{number_of_task}", rng)


def score(task: Task, answer: str | None, tool_results: int, faults: int) -> dict[str, float]:
    """Give the partial rewards. `faults` counts calls whose arguments were malformed; the answer counts most.

    A wrong answer still earns a little for the evidence gathered by tools, so that a fresh policy has something to climb.
    """
    return {
        "answer": 0.8 if answer == task.answer else 0.0,
        "evidence": 0.08 * min(tool_results, 2),
        "format": 0.04 if answer is not None and not faults else 0.0,
    }


def _chain(id: str, rng: np.random.Generator) -> Task:
    a, b, c = (int(rng.integers(2, 40)) for _ in range(3))
    first, second = str(rng.choice(["+", "-"])), str(rng.choice(["*", "+"]))
    answer = calculate(second, float(calculate(first, a, b)), c)
    return Task(id, "chain", f"What is ({a} {first} {b}) {second} {c}?", (a, b, c), (first, second), (), answer)


def _divide(id: str, rng: np.random.Generator) -> Task:
    b = 0 if rng.random() < 0.3 else int(rng.integers(1, 9))
    a = int(rng.integers(2, 12)) * max(b, 1)
    answer = calculate("/", a, b) if b else UNDEFINED
    return Task(id, "divide", f"Divide {a} by {b}. Say '{UNDEFINED}' if that cannot be done.", (a, b), ("/",), (), answer)


def _compare(id: str, rng: np.random.Generator) -> Task:
    first, second = (str(name) for name in rng.choice(sorted(HEIGHTS), 2, replace=False))
    answer = number(HEIGHTS[first] - HEIGHTS[second])
    return Task(id, "compare", f"By how many metres is {first} higher than {second}?", (), ("-",), (first, second), answer)


def _height(id: str, rng: np.random.Generator) -> Task:
    lost = rng.random() < 0.3
    name = str(rng.choice(_LOST if lost else sorted(HEIGHTS)))
    question = f"How high is {name} in metres? Say '{UNKNOWN}' if nobody knows."
    return Task(id, "height", question, (), (), (name,), UNKNOWN if lost else number(HEIGHTS[name]))


_MAKERS = {"chain": _chain, "divide": _divide, "compare": _compare, "height": _height}
