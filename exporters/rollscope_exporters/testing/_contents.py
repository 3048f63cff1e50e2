"""What a destination holds, in plain terms that every destination can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class SeenTrajectory:
    """One trajectory as a destination shows it."""

    spans: set[str] = field(default_factory=set)
    """Span ids."""
    messages: list[dict[str, object]] | None = None
    """The conversation in OpenAI format; None when the destination keeps none."""
    rewards: list[tuple[str, float]] = field(default_factory=list)
    """Name and value of every reward, repetitions included; components as `name/component`."""


@dataclass
class Contents:
    """One run read back from a destination. A field stays None when the destination does not keep such things, or
    cannot be asked; the suite then leaves it out of its comparison."""

    copies: int = 1
    """How many runs of the destination belong to this one; anything but 1 is a fault."""
    name: str | None = None
    status: str | None = None
    """`running`, `finished`, `failed` or `aborted`."""
    metrics: dict[str, list[tuple[int | None, object]]] | None = None
    """Name as recorded → (step, value) of every point, repetitions included, in any order."""
    trajectories: dict[str, SeenTrajectory] | None = None
    traces: dict[str, set[str]] | None = None
    """Trace id (hex) → span ids (hex) of traces that are no trajectory."""
    tables: dict[tuple[str, int | None], list[dict[str, object]]] | None = None
    """Name and step → rows, repetitions included."""
    artifacts: dict[str, bytes] | None = None
    histograms: dict[tuple[str, int | None], list[list[int]]] | None = None
    """Name and step → counts of every histogram, repetitions included."""
    images: dict[tuple[str, int | None], list[bytes]] | None = None
    """Name and step → content of every image, repetitions included; those of messages apart."""
    logs: list[str] | None = None
    """Bodies of log lines, repetitions included."""
