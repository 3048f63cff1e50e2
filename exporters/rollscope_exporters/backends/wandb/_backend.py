"""The backend: takes a run's records and turns them into rows, in an order that the same records always give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import BaseModel

from ...records import Artifact, Histogram, Image, LateFacts, Record, RunFinished, RunStarted, StepMetrics, Table, Trajectory
from .._digests import Digest, DigestRules, Digests
from .._protocol import BusyError
from .._spool import Spool
from .._uploader import Uploader
from ._checkpoints import Checkpoints, again
from ._config import WandbConfig
from ._rows import Row, digest_rows, histogram_row, image_row, metrics_row, respelled, table_rows
from ._run import Run

_EXIT_CODES = {"finished": 0, "failed": 1, "aborted": 137}
_NAMES_KEPT = 10_000


class _Parts(NamedTuple):
    """What the one run of a worker consists of."""

    run: Run
    digests: Digests
    uploads: Uploader


class WandbBackend:
    """Writes one run to W&B. Spans and log lines are not sent: Weave takes traces as OTLP, from the Collector."""

    Config: ClassVar[type[BaseModel]] = WandbConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories", "tables", "histograms", "images", "artifacts"})
    per_run: ClassVar[bool] = True

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        import wandb  # noqa: F401 - a missing extra is told now

        assert isinstance(config, WandbConfig)
        self._config, self._root, self._storage = config, (config.dir or storage).absolute(), storage
        self._state: dict[str, Any] = dict(state)
        self._parts: _Parts | None = None

    def write(self, records: Sequence[Record]) -> None:
        """Log `records`. Whatever stops it, the next call begins again and skips the rows that are there."""
        if not records:
            return
        parts = self._opened(records[0].run)
        run, digests = parts.run, parts.digests
        rows, marks = run.next, digests.mark()
        try:
            for record in records:
                self._write(record, parts)
        except BaseException:
            run.next = rows
            digests.restore(marks)
            raise

    def checkpoint(self) -> dict[str, object]:
        """Wait until every row stands on the disk."""
        if self._parts is None:
            return dict(self._state)
        run, digests, _ = self._parts
        run.sync()
        self._state = {
            "run": self._state["run"],
            "rows": run.next,
            "names": dict(run.names),
            "digests": digests.checkpoint(),
            "left_out": {reason: {self._state["run"]: number} for reason, number in digests.left_out.items()},
        }
        return dict(self._state)

    def close(self) -> None:
        """Leave the run as it is; W&B is told that it is only interrupted."""
        if self._parts is not None:
            self._parts.uploads.close()
            self._parts.run.pause()

    def _opened(self, run: str) -> _Parts:
        known = self._state.setdefault("run", run)
        if run != known:
            raise ValueError(f"a worker of run {known} was given a record of {run}")
        if self._parts is None:
            opened = Run(self._config, self._root, known, self._state.get("rows", 0), dict(self._state.get("names", {})))
            digests: dict[str, Any] = self._state.get("digests", {})
            spool = Spool(opened.files.folder / "digests", digests.get("spool", {}))
            config = self._config
            rules = DigestRules(config.digest_rows, config.digest_lag, config.text_bytes, config.messages, config.image_bytes)
            uploads = Uploader(self._storage, "wandb", Checkpoints(opened), known)
            self._parts = _Parts(opened, Digests(rules, spool, digests), uploads)
        return self._parts

    def _write(self, record: Record, parts: _Parts) -> None:
        run, digests, uploads = parts
        match record:
            case RunStarted():
                run.start(record)
            case RunFinished():
                self._log_digests(run, digests.rest(record.time))
                if uploads.busy and run.stay_open():
                    raise BusyError("a checkpoint is on its way to W&B; the run ends when it is there")
                summary: dict[str, object] = {"rollscope/status": record.status, "rollscope/error": record.error[:8000]}
                run.finish(_EXIT_CODES[record.status], summary, again(uploads.finished()))
            case StepMetrics():
                self._keep_names(run, respelled(record))
                self._log_one(run, metrics_row(record))
                self._log_digests(run, digests.passed(record.step, record.time))
            case Table():
                self._log(run, table_rows(record))
            case Histogram():
                self._log_one(run, histogram_row(record))
            case Image():
                self._log_one(run, image_row(record))
            case Artifact(upload=True):
                uploads.order(record, {})
            case Artifact():
                run.log_artifact(record)
            case Trajectory():
                self._log_digests(run, digests.add(record))
            case LateFacts():
                digests.add_late(record)
            case _:
                raise TypeError(f"not accepted: {type(record).__name__}")

    def _log(self, run: Run, rows: Sequence[Row]) -> None:
        for row in rows:
            run.log(row)

    def _log_digests(self, run: Run, digests: Sequence[Digest]) -> None:
        self._log(run, [row for digest in digests for row in digest_rows(digest)])

    def _log_one(self, run: Run, row: Row | None) -> None:
        self._log(run, [row] if row else [])

    def _keep_names(self, run: Run, names: Mapping[str, str]) -> None:
        """Write down, in the run's configuration, the originals of names that had to be cut."""
        new = {key: name for key, name in names.items() if key not in run.names}
        if new and len(run.names) < _NAMES_KEPT:
            run.names.update(new)
            run.describe()
