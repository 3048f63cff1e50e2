"""Which trajectories of a step become traces: the common sample, asked once for each until the next checkpoint."""

from __future__ import annotations

from collections.abc import Mapping

from ...records import Trajectory
from ...sampling import Sampler


class Budget:
    """Takes trajectories in order and says which to keep. `limit` None keeps all."""

    def __init__(self, limit: int | None, state: Mapping[str, object] | None = None) -> None:
        self._sampler = Sampler(per_step=limit, state=state)
        self._decided: dict[str, bool] = {}

    def keeps(self, trajectory: Trajectory) -> bool:
        """Decide once for each trajectory: a batch handed over again in halves gets the same answers."""
        if trajectory.id not in self._decided:
            self._decided[trajectory.id] = not self._sampler.reason(trajectory)
        return self._decided[trajectory.id]

    def checkpoint(self) -> dict[str, object]:
        """Return the state to be kept, JSON-compatible."""
        self._decided.clear()
        return self._sampler.state()
