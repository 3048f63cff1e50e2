"""Writes `<storage>/console.log`, and the same lines to a terminal or file that the configuration names."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from ...records import Record, RunFinished, RunStarted, Scalar, StepMetrics, Trajectory
from .._hosts import is_of_host
from .._protocol import UnavailableError
from ._choose import DEFAULT_METRICS, choose
from ._line import Columns, Paint, clock, one_line, painted, plain
from ._sink import LogFile, Terminal
from ._trajectories import TrajectoryCounts

_KNOWN_RUNS = 200


class ConsoleConfig(BaseModel):
    """The section `backends.console`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: Path | None = None
    """A terminal device or a file that gets the lines too, such as the trainer's own terminal."""
    show: list[str] = []
    """Glob patterns of metrics to show before the usual ones (rewards, losses, KL, lengths, throughput, time)."""
    columns: int = Field(6, ge=1, le=40)
    """Metrics shown in a line; the others are counted."""
    color: Literal["auto", "always", "never"] = "auto"
    """`auto`: on a terminal, unless NO_COLOR is set. The log file has none."""


class ConsoleBackend:
    """One line when a run starts, one a step, one when it ends."""

    Config: ClassVar[type[BaseModel]] = ConsoleConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories"})
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, ConsoleConfig)
        known: dict[str, Any] = dict(state)
        self._patterns = (*config.show, *DEFAULT_METRICS)
        self._most = config.columns
        self._columns = {run: Columns(list(names)) for run, names in known.get("columns", {}).items()}
        self._names: dict[str, str] = dict(known.get("names", {}))
        self._begun: dict[str, int] = dict(known.get("begun", {}))
        self._counts = TrajectoryCounts(known.get("trajectories"))
        self._lost_before = int(known.get("lost", 0))
        self._log = LogFile(storage / "console.log", int(known.get("size", 0)))
        self._terminal = Terminal(config.path)
        self._paint: Paint = painted if _wants_color(config, self._terminal) else plain

    def write(self, records: Sequence[Record]) -> None:
        """Write the lines of `records`. Steps of one batch that came in several pieces become one line."""
        steps: dict[tuple[str, int | None], StepMetrics] = {}
        for record in records:
            if isinstance(record, StepMetrics):
                if is_of_host(record):
                    continue  # a console is not where one looks for them
                key = (record.run, record.step)
                steps[key] = (
                    _merged(steps[key], record) if key in steps and record.step is not None else self._shown_first(steps, key, record)
                )
            elif isinstance(record, Trajectory):
                self._counts.add(record)
            elif isinstance(record, (RunStarted, RunFinished)):
                self._write_steps(steps)
                self._started(record) if isinstance(record, RunStarted) else self._finished(record)
        self._write_steps(steps)

    def checkpoint(self) -> dict[str, object]:
        self._log.sync()
        runs = list(self._names)[-_KNOWN_RUNS:]
        return {
            "size": self._log.size,
            "names": {run: self._names[run] for run in runs},
            "begun": {run: self._begun[run] for run in runs if run in self._begun},
            "columns": {run: columns.names for run, columns in list(self._columns.items())[-_KNOWN_RUNS:]},
            "trajectories": self._counts.checkpoint(),
            "lost": self._lost_before + self._terminal.lost,
        }

    def close(self) -> None:
        self._log.close()
        self._terminal.close()

    def _shown_first(
        self, steps: dict[tuple[str, int | None], StepMetrics], key: tuple[str, int | None], record: StepMetrics
    ) -> StepMetrics:
        """What has no step cannot be merged: the one before it is written now."""
        if key in steps:
            self._step(steps.pop(key))
        return record

    def _write_steps(self, steps: dict[tuple[str, int | None], StepMetrics]) -> None:
        for record in steps.values():
            self._step(record)
        steps.clear()

    def _started(self, record: RunStarted) -> None:
        self._names[record.run] = f"{record.project}/{record.name}"
        if self._begun.get(record.run) == record.attempt:
            return  # told again, with circumstances that took a while to find out
        self._begun[record.run] = record.attempt
        word = "resumes" if record.attempt else "starts"
        extras = [f"id {record.run}", f"{_leaves(record.config)} settings", *([f"tags {', '.join(record.tags)}"] if record.tags else [])]
        attempt = [f"attempt {record.attempt}"] if record.attempt else []
        self._line(record.time, lambda paint: f"{paint(self._name(record.run), 'bold')} {word} · {' · '.join(attempt + extras)}")

    def _finished(self, record: RunFinished) -> None:
        style = "good" if record.status == "finished" else "bad"
        error = f" · {record.error}" if record.error else ""
        self._line(record.time, lambda paint: f"{paint(self._name(record.run), 'bold')} {paint(record.status, style)}{one_line(error)}")

    def _step(self, record: StepMetrics) -> None:
        numbers = {name: value for name, value in record.values.items() if not isinstance(value, str)}
        columns = self._columns.setdefault(record.run, Columns())
        columns.add(choose(numbers, self._patterns, self._most), self._most)
        hidden = len(record.values) - sum(name in record.values for name in columns.names)
        count = self._counts.take(record.run, record.step)
        step = "     -" if record.step is None else f"{record.step:>6}"

        def text(paint: Paint) -> str:
            parts = [f"{paint('step', 'dim')} {step}", *columns.cells(record.values, paint)]
            parts += [paint(f"+{hidden}", "dim")] if hidden else []
            parts += [paint(count.summary(), "warn" if count.tool_errors else "dim")] if count else []
            return "  ".join(parts)

        self._line(record.time, text)

    def _line(self, time: int, text: Callable[[Paint], str]) -> None:
        try:
            new = self._log.write(f"{clock(time)}  {text(plain)}")
        except OSError as error:
            raise UnavailableError(f"cannot write console.log: {error}. Free some space") from error
        if new:
            self._terminal.write(f"{self._paint(clock(time), 'dim')}  {text(self._paint)}")

    def _name(self, run: str) -> str:
        return one_line(self._names.get(run, run), 80)


def _merged(first: StepMetrics, second: StepMetrics) -> StepMetrics:
    values: dict[str, Scalar] = {**first.values, **second.values}
    return StepMetrics(run=first.run, time=first.time, step=first.step, values=values)


def _leaves(config: Mapping[str, object]) -> int:
    return sum(_leaves(value) if isinstance(value, Mapping) else 1 for value in config.values())


def _wants_color(config: ConsoleConfig, terminal: Terminal) -> bool:
    if config.color == "auto":
        return terminal.is_terminal and not os.environ.get("NO_COLOR")
    return config.color == "always"
