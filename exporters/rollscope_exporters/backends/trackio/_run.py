"""One run: its place in trackio, and the digests it holds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from ...records import Histogram, Image, LateFacts, Record, RunFinished, RunStarted, StepMetrics, Table, Trajectory
from .._digests import Digest, DigestRules, Digests
from .._digests import Marks as DigestMarks
from .._names import encode_name
from .._plain import text
from .._spool import Spool
from ._compat import Row, write_rows
from ._config import TrackioConfig
from ._rows import config_of, digest_row, histogram_row, identity_of, image_row, metrics_row, project_key, status_row, table_row

NO_IMAGE = "images without content"
NO_BINS = "histograms without a finite value"


class Marks(NamedTuple):
    """Where to return to."""

    digests: DigestMarks
    left_out: dict[str, int]


class Run:
    """`state` is what `checkpoint` returned last."""

    def __init__(self, config: TrackioConfig, folder: Path, run: str, state: Mapping[str, Any]) -> None:
        self._config, self._run = config, run
        self._project: str = state.get("project", project_key(config.project))
        self._name: str = state.get("name", run)
        self._start: int | None = state.get("start")
        digests = state.get("digests", {})
        spool = Spool(folder / ".rollscope" / encode_name(run, _in_file_names, 100), digests.get("spool", {}))
        rules = DigestRules(config.digest_rows, config.digest_lag, config.text_bytes, True, config.image_bytes, spans=True)
        self._digests = Digests(rules, spool, digests)
        self._left_out: dict[str, int] = dict(state.get("left_out", {}))
        self._told: dict[str, Any] | None = None

    @property
    def left_out(self) -> dict[str, int]:
        """How much was left out, by reason."""
        return {**self._digests.left_out, **self._left_out}

    def mark(self) -> Marks:
        return Marks(self._digests.mark(), dict(self._left_out))

    def restore(self, marks: Marks) -> None:
        """Forget what was held and left out since `marks`."""
        self._digests.restore(marks.digests)
        self._left_out = dict(marks.left_out)

    def checkpoint(self) -> dict[str, Any]:
        return {
            "project": self._project,
            "name": self._name,
            "start": self._start,
            "digests": self._digests.checkpoint(),
            "left_out": dict(self._left_out),
        }

    def write(self, records: list[Record]) -> None:
        """Write what `records` become, in one transaction."""
        rows: list[Row] = []
        for record in records:
            if isinstance(record, RunStarted) and rows:
                self._send(rows)
                rows = []
            rows += self._rows(record)
        if rows:
            self._send(rows)

    def _send(self, rows: list[Row]) -> None:
        write_rows(self._project, self._name, self._run, rows, self._told)
        self._told = None

    def _rows(self, record: Record) -> list[Row]:
        match record:
            case RunStarted():
                return self._started(record)
            case RunFinished():
                word = f"{record.status}: {record.error}" if record.error else record.status
                end = status_row(word, self._seconds(record.time), record.time, identity_of(record))
                return [*self._shown(self._digests.rest(record.time)), end]
            case StepMetrics():
                step = self._seconds(record.time) if record.step is None else record.step
                return [*self._shown(self._digests.passed(record.step, record.time)), *metrics_row(record, step)]
            case Histogram() | Image():
                return self._picture(record, self._seconds(record.time) if record.step is None else record.step)
            case Trajectory():
                return self._shown(self._digests.add(record))
            case LateFacts():
                self._digests.add_late(record)
                return []
            case Table():
                return [table_row(record, self._seconds(record.time) if record.step is None else record.step)]
            case _:
                raise TypeError(f"not accepted: {type(record).__name__}")

    def _picture(self, record: Histogram | Image, step: int) -> list[Row]:
        """A histogram, or an image under its name; those of messages have none, and stand in their traces."""
        if isinstance(record, Histogram) and record.counts:
            return [histogram_row(record, step)]
        if isinstance(record, Image) and record.content is not None:
            return [image_row(record, step, self._project, encode_name(self._run, _in_file_names, 100))] if record.name else []
        if isinstance(record, Histogram) or record.name:
            reason = NO_BINS if isinstance(record, Histogram) else NO_IMAGE
            self._left_out[reason] = self._left_out.get(reason, 0) + 1
        return []

    def _started(self, record: RunStarted) -> list[Row]:
        if self._start is None:
            self._start = record.time
            self._project = project_key(self._config.project or record.project)
            self._name = text(record.name) or record.run
        self._told = config_of(record)
        return [status_row("running", self._seconds(record.time), record.time, identity_of(record))]

    def _shown(self, digests: list[Digest]) -> list[Row]:
        return [digest_row(digest, self._seconds(digest.time) if digest.step is None else digest.step) for digest in digests if digest.rows]

    def _seconds(self, time: int) -> int:
        """Place of what has no step: whole seconds since the run began."""
        return max(time - (self._start or time), 0) // 1_000_000_000


def _in_file_names(character: str) -> bool:
    return character.isascii() and (character.isalnum() or character in "-_.")
