"""What a faithful destination would hold of some records."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..records import (
    Artifact,
    Histogram,
    Image,
    LateFacts,
    LogLine,
    Record,
    Reward,
    RunFinished,
    RunStarted,
    StepMetrics,
    Table,
    Trace,
    Trajectory,
)
from ._contents import Contents, SeenTrajectory


def expected(records: Sequence[Record], run: str) -> Contents:
    """Return contents of `run` after all of `records`; for signals without any record, empty."""
    found = _Found()
    for record in records:
        if record.run == run:
            found.add(record)
    return Contents(1, **vars(found))


class _Found:
    def __init__(self) -> None:
        self.name: str | None = None
        self.status: str | None = None
        self.metrics: dict[str, list[tuple[int | None, object]]] = {}
        self.trajectories: dict[str, SeenTrajectory] = {}
        self.traces: dict[str, set[str]] = {}
        self.tables: dict[tuple[str, int | None], list[dict[str, object]]] = {}
        self.artifacts: dict[str, bytes] = {}
        self.histograms: dict[tuple[str, int | None], list[list[int]]] = {}
        self.images: dict[tuple[str, int | None], list[bytes]] = {}
        self.logs: list[str] = []

    def add(self, record: Record) -> None:
        match record:
            case RunStarted():
                self.name, self.status = record.name, "running"
            case RunFinished():
                self.status = record.status
            case StepMetrics():
                for name, value in record.values.items():
                    self.metrics.setdefault(name, []).append((record.step, value))
            case Trajectory():
                spans = {span.span_id for span in record.spans}
                self.trajectories[record.id] = SeenTrajectory(spans, record.messages, list(named_rewards(record.rewards)))
            case LateFacts() if record.trajectory in self.trajectories:
                self.trajectories[record.trajectory].rewards.extend(named_rewards(record.rewards))
            case _:
                self._add_other(record)

    def _add_other(self, record: Record) -> None:
        match record:
            case Trace():
                self.traces.setdefault(record.trace_id, set()).update(span.span_id for span in record.spans)
            case Table():
                self.tables.setdefault((record.name, record.step), []).extend(record.rows)
            case Histogram():
                self.histograms.setdefault((record.name, record.step), []).append(record.counts)
            case Image() if record.name:
                self.images.setdefault((record.name, record.step), []).append(record.content or b"")
            case Artifact():
                self.artifacts[record.name] = record.content or b""
            case LogLine():
                self.logs.append(record.body)


def named_rewards(rewards: Iterable[Reward]) -> Iterable[tuple[str, float]]:
    """Yield each reward and each component with the name it goes by."""
    for reward in rewards:
        yield reward.name, reward.value
        yield from ((f"{reward.name}/{name}", value) for name, value in reward.components.items())
