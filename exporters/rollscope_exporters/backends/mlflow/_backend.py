"""The backend: sorts a batch by run and kind, and writes each kind the way it is cheapest for MLflow."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
from pydantic import BaseModel

from ...histograms import as_metrics
from ...records import (
    Artifact,
    Histogram,
    Image,
    LateFacts,
    Record,
    RunFinished,
    RunStarted,
    StepMetrics,
    Table,
    Trace,
    Trajectory,
)
from .._protocol import RejectedError
from .._uploader import Uploader
from ._artifacts import log_artifact, log_table
from ._budget import Budget
from ._checkpoints import Checkpoints, target_of
from ._config import MlflowConfig
from ._connection import Connection
from ._json import as_json
from ._late import join_facts
from ._metrics import points, spelled, texts
from ._otlp import clean_text
from ._pictures import log_histogram, log_image
from ._runs import Handle, Runs
from ._traces import TraceWriter
from ._uri import hide_password

_METRICS_PER_CALL = 1000
_NAMES_KEPT = 10_000


class _Pending:
    """Records of one run that wait for the end of the batch, by kind."""

    def __init__(self) -> None:
        self.metrics: list[StepMetrics] = []
        self.trajectories: list[Trajectory] = []
        self.traces: list[Trace] = []
        self.facts: list[LateFacts] = []
        self.files: list[Table | Artifact | Histogram | Image] = []


class MlflowBackend:
    """Writes to an MLflow server or database. Log lines are not sent: MLflow has no place for them."""

    Config: ClassVar[type[BaseModel]] = MlflowConfig
    accepts: ClassVar[frozenset[str]] = frozenset(
        {"runs", "metrics", "trajectories", "traces", "tables", "histograms", "images", "artifacts"}
    )
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, MlflowConfig)
        known: dict[str, Any] = dict(state)
        self._connection = Connection(config, storage)
        same_store = known.get("uri") == hide_password(self._connection.uri)
        self._runs = Runs(self._connection, known.get("runs", {}) if same_store else {}, known.get("titles", {}))
        self._traces = TraceWriter(self._connection, config)
        registered = config.registered_model if config.register_models else ""
        self._uploads = Uploader(storage, "mlflow", Checkpoints(self._connection, registered))
        self._budget = Budget(config.trajectories_per_step, known.get("budget"))
        self._names: dict[str, dict[str, str]] = copy.deepcopy(known.get("names", {}) if same_store else {})
        self._left_out: dict[str, dict[str, int]] = copy.deepcopy(known.get("left_out", {}))
        self._counted: set[str] = set()

    def write(self, records: Sequence[Record]) -> None:
        try:
            self._write(records)
        except RejectedError:
            with self._connection.guarded():
                gone = self._runs.forget_gone({record.run for record in records})
            if not gone:
                raise
            self._write(records)

    def _write(self, records: Sequence[Record]) -> None:
        with self._connection.guarded():
            pending: dict[str, _Pending] = {}
            for record in records:
                if isinstance(record, (RunStarted, RunFinished)):
                    self._flush(pending)
                    self._runs.start(record) if isinstance(record, RunStarted) else self._runs.finish(record)
                else:
                    self._sort(record, pending.setdefault(record.run, _Pending()))
            self._flush(pending)

    def checkpoint(self) -> dict[str, object]:
        """Everything is written through already; the state tells a successor which runs are which."""
        self._counted.clear()
        return {
            "uri": hide_password(self._connection.uri),
            "runs": self._runs.checkpoint(),
            "titles": self._runs.titles(),
            "budget": self._budget.checkpoint(),
            "names": {run: dict(names) for run, names in self._names.items()},
            "left_out": {reason: dict(runs) for reason, runs in self._left_out.items()},
        }

    def close(self) -> None:
        """Uploads that are not done go on with the next start; nothing else is held back."""
        self._uploads.close()

    def _sort(self, record: Record, pending: _Pending) -> None:
        match record:
            case StepMetrics():
                pending.metrics.append(record)
            case Trajectory() if self._budget.keeps(record):
                pending.trajectories.append(record)
            case Trajectory():
                self._leave_out("trajectories_per_step", record.run, record.id)
            case Trace():
                pending.traces.append(record)
            case LateFacts():
                pending.facts.append(record)
            case Histogram():
                pending.metrics.append(as_metrics(record))
                pending.files.append(record)
            case Table() | Artifact() | Image():
                pending.files.append(record)
            case _:
                raise TypeError(f"not accepted: {type(record).__name__}")

    def _flush(self, pending: dict[str, _Pending]) -> None:
        for run, waiting in pending.items():
            handle = self._runs.handle(run)
            self._write_metrics(run, handle, waiting.metrics)
            trajectories, facts = join_facts(waiting.trajectories, waiting.facts)
            self._traces.trajectories(handle, trajectories)
            for late in self._traces.traces(handle, waiting.traces):
                self._leave_out("spans_of_left_out_trajectories", run, late.spans[0].span_id if late.spans else late.trace_id)
            for fact in self._traces.facts(handle, facts):
                self._leave_out("facts_of_left_out_trajectories", run, as_json(msgspec.to_builtins(fact)))
            self._write_files(handle, waiting.files)
        pending.clear()

    def _write_metrics(self, run: str, handle: Handle, records: list[StepMetrics]) -> None:
        from mlflow.entities import Metric, RunTag

        found = [point for record in records for point in points(record)]
        for start in range(0, len(found), _METRICS_PER_CALL):
            batch = [Metric(point.key, point.value, point.timestamp, point.step) for point in found[start : start + _METRICS_PER_CALL]]
            self._connection.client.log_batch(handle.run_id, metrics=batch)
        words = {name: text for record in records for name, text in texts(record).items()}
        tags = [RunTag(spelled(name), clean_text(text, 8000)) for name, text in words.items()]
        for start in range(0, len(tags), 100):
            self._connection.client.log_batch(handle.run_id, tags=tags[start : start + 100])
        self._keep_names(run, handle, {point.key: point.name for point in found if point.key != point.name})

    def _keep_names(self, run: str, handle: Handle, respelled: dict[str, str]) -> None:
        """Write down the originals of names that MLflow does not take."""
        known = self._names.setdefault(run, {}) if respelled else self._names.get(run, {})
        new = {key: name for key, name in respelled.items() if key not in known}
        if new and len(known) < _NAMES_KEPT:
            known.update(new)
            with self._connection.guarded_files(handle.run_id):
                self._connection.client.log_text(handle.run_id, as_json(known, indent=1), "metric_names.json")

    def _write_files(self, handle: Handle, files: list[Table | Artifact | Histogram | Image]) -> None:
        for file in files:
            with self._connection.guarded_files(handle.run_id):
                self._write_file(handle.run_id, file)

    def _write_file(self, run_id: str, file: Table | Artifact | Histogram | Image) -> None:
        client = self._connection.client
        match file:
            case Table():
                log_table(client, run_id, file)
            case Histogram():
                log_histogram(client, run_id, file)
            case Image():
                log_image(client, run_id, file)
            case Artifact():
                log_artifact(client, run_id, file)
                if file.upload:
                    self._uploads.order(file, target_of(run_id, file.name))

    def _leave_out(self, reason: str, run: str, identity: str) -> None:
        """Count once what does not go, also when the worker hands it over again in halves."""
        key = f"{reason}/{run}/{identity}"
        if key not in self._counted:
            self._counted.add(key)
            runs = self._left_out.setdefault(reason, {})
            runs[run] = runs.get(run, 0) + 1
