"""Facts that came late but in the same batch as their trajectory are written with it: half the work for MLflow."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from ...records import LateFacts, Trajectory


def join_facts(trajectories: Iterable[Trajectory], facts: Iterable[LateFacts]) -> tuple[list[Trajectory], list[LateFacts]]:
    """Return the trajectories with what was told of them later, and the facts whose trajectory is not among them."""
    joined = {trajectory.id: trajectory for trajectory in trajectories}
    others = []
    for fact in facts:
        trajectory = joined.get(fact.trajectory)
        if trajectory is None:
            others.append(fact)
            continue
        joined[fact.trajectory] = msgspec.structs.replace(
            trajectory,
            rewards=[*trajectory.rewards, *fact.rewards],
            facts={**trajectory.facts, **fact.facts},
            tokens=[*trajectory.tokens, *fact.tokens],
        )
    return list(joined.values()), others
