"""How a name enters the vocabulary: once, with its type, unit and meaning."""

from __future__ import annotations

from typing import Literal

import msgspec

Kind = Literal["resource", "attribute", "span", "event", "metric", "scope"]


class Entry(msgspec.Struct, frozen=True):
    """One name of the vocabulary as `docs/vocabulary.md` prints it."""

    name: str
    kind: Kind
    type: str
    """Value type (`int`, `string`, `map`, …) or, for a metric, its instrument."""
    meaning: str
    unit: str = ""
    """UCUM unit, empty where the value has none."""
    proposal: str = ""
    """What the open `rl.*` proposals call the same thing, or one near it: `A` and `B` as in `PROPOSALS`."""


PROPOSALS: dict[str, str] = {
    "A": "open-telemetry/semantic-conventions-genai#88",
    "B": "alibaba/loongsuite-semantic-conventions-genai#27",
}

REGISTRY: dict[tuple[Kind, str], Entry] = {}


def define(kind: Kind, name: str, type: str, meaning: str, *, unit: str = "", proposal: str = "") -> str:
    """Enter `name` and return it as a plain `str`, so that it costs nothing on a hot path.

    Raises `ValueError` when the name is taken within its kind.
    """
    key = (kind, name)
    if key in REGISTRY:
        raise ValueError(f"vocabulary: {kind} {name!r} is defined twice; keep one definition")
    REGISTRY[key] = Entry(name, kind, type, meaning, unit, proposal)
    return name
