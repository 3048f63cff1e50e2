"""Which trajectories of a step its digest shows: whole groups, the same ones whenever it is asked.

First the groups of the best, the worst and a failed trajectory, then others by a hash of what they are, as far as there is room. A group
that is too large for an empty table is shown in part.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

_FAILED = {"failed", "aborted"}

Rows = Sequence[Mapping[str, object]]


def choose(rows: Rows, most: int) -> list[Mapping[str, object]]:
    """At most `most` of `rows`, in order of group and index."""
    groups: dict[str, list[Mapping[str, object]]] = {}
    for row in rows:
        groups.setdefault(group_of(row), []).append(row)
    chosen: list[Mapping[str, object]] = []
    for name in [*_notable(rows), *sorted(groups, key=_hash)]:
        members = groups.pop(name, [])
        if members and (not chosen or len(chosen) + len(members) <= most):
            chosen += sorted(members, key=_place)[:most]
    return sorted(chosen, key=_place)


def group_of(row: Mapping[str, object]) -> str:
    """Group of a digest row; one without is a group of its own."""
    return str(row["trajectory"] if row["group"] is None else row["group"])


def _notable(rows: Rows) -> list[str]:
    scored = [(value, group_of(row)) for row in rows if isinstance(value := row.get("reward"), (int, float)) and math.isfinite(value)]
    failed = sorted({group_of(row) for row in rows if row["outcome"] in _FAILED}, key=_hash)
    return [name for _, name in (max(scored), min(scored))] + failed[:1] if scored else failed[:1]


def _place(row: Mapping[str, object]) -> tuple[str, int, int, str]:
    index, attempt = row.get("index"), row.get("attempt")
    return group_of(row), index if isinstance(index, int) else -1, attempt if isinstance(attempt, int) else 0, str(row["trajectory"])


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
