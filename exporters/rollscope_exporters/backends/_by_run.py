"""One object per run, for backends whose one process serves all runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Protocol, TypeVar


class Kept(Protocol):
    """What a backend keeps of a run."""

    @property
    def left_out(self) -> Mapping[str, int]:
        """How many rows a limit kept back, by reason."""

    def checkpoint(self) -> dict[str, Any]:
        """Make what was written durable and return the state to come back with."""


Of = TypeVar("Of", bound=Kept)


class ByRun(Generic[Of]):
    """Objects by run, made when they are first asked for; `state` is what `checkpoint` returned last."""

    def __init__(self, make: Callable[[str, Mapping[str, Any]], Of], state: Mapping[str, Any]) -> None:
        self._make = make
        self._states: dict[str, dict[str, Any]] = dict(state.get("runs", {}))
        self._runs = {run: make(run, told) for run, told in self._states.items()}
        self._touched: set[str] = set()

    def __getitem__(self, run: str) -> Of:
        if run not in self._runs:
            self._runs[run] = self._make(run, {})
        return self._runs[run]

    def touch(self, run: str) -> None:
        """What was written of `run` counts from the next checkpoint on."""
        self._touched.add(run)

    def checkpoint(self) -> dict[str, object]:
        """Checkpoint the runs that were touched; the state of a backend, as its protocol has it."""
        self._states |= {run: self._runs[run].checkpoint() for run in self._touched}
        self._touched.clear()
        left_out: dict[str, dict[str, int]] = {}
        for run, kept in self._runs.items():
            for reason, number in kept.left_out.items():
                left_out.setdefault(reason, {})[run] = number
        return {"runs": dict(self._states), "left_out": left_out}
