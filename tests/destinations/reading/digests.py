"""What a digest says of trajectories: as rows, or as text for people."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from tests.destinations.facts import As, Held, told_later


def of_rows(rows: Mapping[str, Mapping[str, Any]], told: Mapping[str, str], form: str) -> Held:
    """Facts of digest rows by trajectory, with rewards and facts as values."""
    one, failed = rows[told["trajectory"]], rows[told["failed"]]
    reward, judge = one["rewards"]
    found = {
        "trajectory.text": one["text"],
        "trajectory.usage": (one["input_tokens"], one["output_tokens"]),
        "trajectory.reward": reward["value"],
        "trajectory.components": reward["components"],
        "trajectory.explanation": reward["explanation"],
        "trajectory.late_reward": (judge["name"], judge["value"]),
        "trajectory.late_facts": told_later(one["facts"]),
        "trajectory.identity": (one["group"], one["index"], one["policy_version"]),
        "trajectory.outcome": failed["outcome"],
        "trajectory.error": failed["error"].partition(": ")[2],
    }
    return {fact: As(value, form) for fact, value in found.items()}


def of_texts(texts: list[str], late: list[str], form: str) -> Held:
    """Facts of the texts of a digest, in its order, and of the lines of what came later."""
    one = next(text for text in texts if text.startswith("task-1 #4"))
    failed = next(text for text in texts if text.startswith("task-2 #0"))
    value, components, explanation = _groups(r"^ *reward: (\S+) \((.+)\) – (.+)$", one)
    late_line = next((line for line in (one, *late) if "judge: " in line), "")
    facts = next((json.loads(line) for line in one.splitlines() if line.strip().startswith('{"rl.')), None) or late_facts(late)
    used, made = _groups(r" · (\d+) → (\d+) tokens", one)
    group, index = _groups(r"^ *(\S+) #(\d+) · ", one)
    (policy,) = _groups(r"^ *policy version: (\d+)$", one)
    (judge,) = _groups(r"judge: ([\d.]+)", late_line)
    (outcome,) = _groups(r"^ *task-2 #0 · (\w+)", failed)
    (error,) = _groups(r"^ *error: \w+: (.+)$", failed)
    found = {
        "trajectory.usage": (int(used), int(made)),
        "trajectory.reward": float(value),
        "trajectory.components": {name: float(number) for name, number in (part.split(" ") for part in components.split(", "))},
        "trajectory.explanation": explanation,
        "trajectory.late_reward": ("judge", float(judge)),
        "trajectory.late_facts": told_later(facts),
        "trajectory.identity": (group, int(index), int(policy)),
        "trajectory.outcome": outcome,
        "trajectory.error": error,
    }
    return {fact: As(value, form) for fact, value in found.items()}


def add_late(rows: Mapping[str, dict[str, Any]], lines: list[str]) -> None:
    """Add to digest rows, by trajectory, what lines of late rewards say of them."""
    for line in lines:
        row = rows[line.partition(" · ")[0]]
        row["rewards"] += [{"name": name, "value": float(value)} for name, value in re.findall(r" · (\w+): ([\d.]+)", line)]
        row["facts"] |= late_facts([line])


def late_facts(late: list[str]) -> dict[str, object]:
    """Return those that stand behind late rewards."""
    return {key: value for line in late if "· {" in line for key, value in json.loads(line[line.index("· {") + 2 :]).items()}


def _groups(pattern: str, text: str) -> tuple[str, ...]:
    match = re.search(pattern, text, re.MULTILINE)
    assert match, f"{pattern} is nowhere in {text}"
    return match.groups()
