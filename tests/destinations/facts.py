"""What a run can say, fact by fact, and what each was in `program`."""

from __future__ import annotations

import base64
import math
import platform
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from rollscope import vocabulary as v

from . import program

SECTIONS: dict[str, dict[str, str]] = {
    "Runs": {
        "run.id": "identity",
        "run.name": "name",
        "run.config": "configuration",
        "run.tags": "tags",
        "run.notes": "notes",
        "run.python": "circumstances (command, git, packages, host)",
        "run.end": "how it ended",
    },
    "Metrics": {
        "metric.value": "value at its step",
        "metric.late": "a step that comes after a higher one",
        "metric.time": "time of the record",
        "metric.unusual": "NaN and infinities",
        "metric.word": "words among values",
        "metric.hosts": "what hosts measure",
    },
    "Distributions, images, tables": {
        "histogram.bins": "histogram, its bins",
        "histogram.nan": "values of it that are no numbers",
        "image.bytes": "image, byte for byte",
        "image.caption": "caption of an image",
        "table.rows": "rows of a table",
    },
    "Files": {
        "file.content": "file, byte for byte",
        "checkpoint.place": "checkpoint: where it lies, under which alias",
    },
    "Trajectories": {
        "trajectory.messages": "messages, tool calls and results, letter by letter",
        "trajectory.image": "image in a message",
        "trajectory.tools": "definitions of tools",
        "trajectory.text": "tokens as text",
        "trajectory.ids": "token ids",
        "trajectory.logprobs": "log-probabilities",
        "trajectory.mask": "loss mask",
        "trajectory.usage": "numbers of tokens",
        "trajectory.reward": "reward",
        "trajectory.components": "components of a reward",
        "trajectory.explanation": "explanation of a reward",
        "trajectory.late_reward": "reward of a judge, given later",
        "trajectory.late_facts": "advantage and filtering, told later",
        "trajectory.identity": "group, index, policy version",
        "trajectory.outcome": "that one failed",
        "trajectory.error": "with which error",
        "trajectory.spans": "turns, generations and tools under their parents",
        "trajectory.times": "when each of them began",
        "trajectory.step": "the step it was made in",
    },
    "Everything else": {
        "trace.spans": "spans of steps, phases, your own code",
        "trace.attributes": "their attributes",
        "log.line": "log lines",
    },
}
TIMES = {"metric.time", "trajectory.times"}
"""Maps of Unix nanoseconds, compared as far as a destination's clock goes."""

Held: TypeAlias = "dict[str, object]"
"""Fact → value, or `As`, or `Partly`."""


@dataclass(frozen=True, slots=True)
class As:
    """A value that a destination has in a form of its own."""

    value: object
    form: str


@dataclass(frozen=True, slots=True)
class Partly:
    """Less than what was said; the reader has seen to it that it is there."""

    form: str


def wanted(told: Mapping[str, Any], recorded: Held) -> Held:
    """Return every fact as it was said; ids and times that only recording gives are those of `recorded`, which is what JSONL holds."""
    made = {key: recorded[key] for key in ("metric.time", "trajectory.spans", "trajectory.times", "trace.spans")}
    return {
        "run.id": told["run"],
        "run.name": program.EXPERIMENT,
        "run.config": leaves(program.CONFIG),
        "run.tags": sorted(program.TAGS),
        "run.notes": program.NOTES,
        "run.python": platform.python_version(),
        "run.end": "finished",
        "metric.value": {name: (3, value) for name, value in program.VALUES.items()},
        "metric.late": (2, 0.7),
        "metric.unusual": {name: spelled(value) for name, value in program.UNUSUAL.items()},
        "metric.word": program.WORD["phase/name"],
        "metric.hosts": ["cpu.utilization", "memory.utilization"],
        "histogram.bins": (3, program.EDGES, program.COUNTS),
        "histogram.nan": 1,
        "image.bytes": (3, program.PLOT),
        "image.caption": program.CAPTION,
        "table.rows": (3, program.ROWS),
        "file.content": program.FILE,
        "checkpoint.place": ("model.bin", "best"),
        "trajectory.messages": program.CONVERSATION,
        "trajectory.image": program.SEEN,
        "trajectory.tools": program.TOOLS,
        "trajectory.text": told["text"],
        "trajectory.ids": [20, 21, 30, 31],
        "trajectory.logprobs": program.LOGPROBS,
        "trajectory.mask": [1, 0],
        "trajectory.usage": (2, 2),
        "trajectory.reward": 1.0,
        "trajectory.components": program.COMPONENTS,
        "trajectory.explanation": program.EXPLANATION,
        "trajectory.late_reward": ("judge", program.JUDGE),
        "trajectory.late_facts": (program.ADVANTAGE, True),
        "trajectory.identity": ("task-1", 4, 11),
        "trajectory.outcome": "failed",
        "trajectory.error": "the sandbox did not answer",
        "trajectory.step": 1,
        "trace.attributes": 7,
        "log.line": program.LOG_LINE,
        **made,
    }


def cell(fact: str, want: object, held: Held) -> str:
    """Return what a destination's column says of a fact. A fact that is there and is another one is an error."""
    if fact not in held:
        return "–"
    found = held[fact]
    if isinstance(found, Partly):
        return found.form
    value, form = (found.value, found.form) if isinstance(found, As) else (found, "")
    if fact in TIMES:
        return f"✓ to the {_precision(want, value)}"
    assert value == want, f"{fact}: {value!r} is held, {want!r} was said"
    return f"✓ {form}".strip()


def _precision(want: Any, found: Any) -> str:
    """By how little the times differ."""
    assert found.keys() == want.keys(), f"{found.keys()} are held, {want.keys()} were said"
    apart = max(abs(found[key] - want[key]) for key in want)
    units = {"ns": 0, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
    return next(unit for unit, most in units.items() if apart <= most)


def leaves(config: Mapping[str, Any], path: str = "") -> dict[str, object]:
    """Return a nested configuration flat, as dotted path → value."""
    found: dict[str, object] = {}
    for key, value in config.items():
        found |= leaves(value, f"{path}{key}.") if isinstance(value, Mapping) else {f"{path}{key}": value}
    return found


def spelled(value: object) -> str:
    """Return NaN and infinities as words, however they came."""
    number = float(str(value))
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def image_of(messages: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the image that the first message shows as a `data:` URI."""
    url = next(iter(messages))["content"][0]["image_url"]["url"]
    return base64.b64decode(url.removeprefix("data:image/png;base64,"))


def told_later(facts: Mapping[str, object]) -> tuple[object, object]:
    """Return advantage and filtering."""
    return facts[v.ADVANTAGE_VALUE], facts[v.TRAJECTORY_FILTERED]
