"""Which workers there should be: a pure function of configuration, runs and positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from ..settings import Settings, SettingsError, wanted_backends

PerRun = Callable[[str], bool]
"""Backend → whether each run needs a process of its own. Raises SettingsError when the backend cannot be had."""


class Run(Protocol):
    """What the store knows of a run, as far as it matters here."""

    @property
    def run(self) -> str:
        """Its id."""

    @property
    def status(self) -> str:
        """`running`, or how it ended."""

    @property
    def backends(self) -> Sequence[str] | None:
        """What it asked for; None when it said nothing."""


@dataclass(slots=True)
class Plan:
    """The workers to have, as (backend, run or None), and why others cannot be."""

    workers: list[tuple[str, str | None]] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)
    """Backend → why it cannot be started."""


def plan(settings: Settings, runs: Sequence[Run], behind: Callable[[str, str | None], bool], per_run: PerRun) -> Plan:
    """Decide. `behind(backend, run)` says whether a worker has rows before it; a run that is over and delivered needs none."""
    found = Plan()
    wanting = _wanting(settings, runs)
    for backend, askers in wanting.items():
        try:
            separate = per_run(backend)
        except SettingsError as error:
            found.problems[backend] = str(error)
            continue
        if not separate:
            if settings.backends is not None or any(run.status == "running" for run in askers) or behind(backend, None):
                found.workers.append((backend, None))
            continue
        found.workers += [(backend, run.run) for run in askers if run.status == "running" or behind(backend, run.run)]
    return found


def _wanting(settings: Settings, runs: Sequence[Run]) -> Mapping[str, list[Run]]:
    """Return each backend with the runs that want it; configured ones are there before any run is."""
    wanting: dict[str, list[Run]] = {name: [] for name in settings.backends or ()}
    for run in runs:
        for name in wanted_backends(run.backends, settings):
            wanting.setdefault(name, []).append(run)
    return wanting
