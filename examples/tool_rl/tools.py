"""The tools an agent may call. They fail the way real tools fail: by raising."""

from __future__ import annotations

import json
from collections.abc import Callable

HEIGHTS: dict[str, int] = {
    "Mont Blanc": 4806,
    "K2": 8611,
    "Denali": 6190,
    "Fuji 🗻": 3776,
    "Olympus": 2918,
    "Etna": 3357,
    "Zugspitze": 2962,
    "Elbrus": 5642,
    "泰山": 1545,
    "华山": 2155,
    "峨眉山": 3099,
}
"""Heights in metres: what `lookup` knows."""

SCHEMAS: list[dict[str, object]] = [
    {
        "type": "function",
        "function": {
            "name": "calculate",
            "description": "Apply one operation to two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"op": {"enum": ["+", "-", "*", "/"]}, "a": {"type": "number"}, "b": {"type": "number"}},
                "required": ["op", "a", "b"],
            },
        },
    },
    {
        "type": "function",
        "function": {
            "name": "lookup",
            "description": "Height of a mountain in metres.",
            "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]},
        },
    },
]
"""Tool definitions, OpenAI format."""

_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b,
}


def calculate(op: str, a: float | str, b: float | str) -> str:
    """Raise `ZeroDivisionError` on a division by zero and `TypeError` when an operand is no number."""
    if isinstance(a, str) or isinstance(b, str):
        raise TypeError(f"calculate needs numbers, got {a!r} and {b!r}")
    return number(_OPERATIONS[op](a, b))


def lookup(name: str) -> str:
    """Raise `KeyError` for a mountain that is not in the table."""
    return number(HEIGHTS[name])


def call(name: str, arguments: str) -> str:
    """Run a tool as a model asks for it. `arguments` is JSON as the model wrote it; raises what parsing or the tool raises."""
    tools: dict[str, Callable[..., str]] = {"calculate": calculate, "lookup": lookup}
    return tools[name](**json.loads(arguments))


def number(value: float) -> str:
    """Write a number the way the tasks expect it: at most two decimals, none when whole."""
    return f"{round(value, 2):g}" if value != int(value) else str(int(value))
