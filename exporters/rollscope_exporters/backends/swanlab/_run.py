"""One run: what its records become, and what is held of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rollscope.files import replace_file

from ...histograms import as_metrics
from ...records import Histogram, Image, LateFacts, Record, RunFinished, RunStarted, StepMetrics, Table, Trajectory
from .._digests import Digest, DigestRules, Digests
from .._hosts import is_of_host
from .._spool import Spool
from ._client import INTERRUPTED
from ._config import SwanlabConfig
from ._hold import Hold
from ._identity import Identity, identity_of
from ._log import PointLog
from ._names import is_cut, metric_key, run_key
from ._pictures import image_point, message_image_points
from ._points import Media, digest_points, host_points, metric_points, table_point
from ._server import Server
from ._upload import Upload

ROWS = "rows of tables beyond table_rows"
NO_IMAGE = "images without content, too large or in a format that SwanLab does not show"
_STOP_PATIENCE = 10.0


class Run:
    """`state` is what `checkpoint` returned last."""

    def __init__(self, config: SwanlabConfig, mode: str, root: Path, run: str, state: Mapping[str, Any], now: float) -> None:
        self._config, self._mode, self._run = config, mode, run
        self._own = root / ".rollscope" / run_key(run)
        server = Server.of(config)
        rules = DigestRules(config.digest_rows, config.digest_lag, config.text_bytes, config.messages, config.image_bytes)
        digests = state.get("digests", {})
        self._digests = Digests(rules, Spool(self._own / "spool", digests.get("spool", {})), digests)
        self._hold = Hold(config.hold_seconds, state.get("hold", ()), now)
        self._names: dict[str, str] = dict(state.get("names", {}))
        self._left_out: dict[str, int] = dict(state.get("left_out", {}))
        self._status, self._error = state.get("status", "running"), state.get("error", "")
        self._start: int | None = state.get("start")
        self._record: RunStarted | None = None
        self._log = PointLog(mode, server, root, run_key(run), self._identity, self._leave_out, state.get("points", {}))
        self._upload = Upload(config, server, root, run_key(run)) if mode == "sync" else None

    @property
    def left_out(self) -> dict[str, int]:
        """How much was left out, by reason."""
        return {**self._digests.left_out, **self._left_out}

    def write(self, records: Iterable[Record], now: float) -> None:
        """Log `records`; when that fails, nothing was held and what was logged is expected again."""
        digests, hold, left_out = self._digests.mark(), self._hold.copy(), dict(self._left_out)
        self._log.begin_batch()
        try:
            for record in records:
                self._write(record, now)
            self._log.add(self._hold.due(now))
        except BaseException:
            self._digests.restore(digests)
            self._hold.restore(hold)
            self._left_out = left_out
            self._log.expect_batch_again()
            raise

    def tick(self, now: float) -> None:
        """Log what was held long enough, and see to uploads. Raises as `write` does."""
        self.write((), now)
        if self._upload and self._log.is_open:
            self._upload.tick(now)

    def checkpoint(self) -> dict[str, Any]:
        """Make everything durable; what is held is part of the state."""
        self._log.confirm()
        return {
            "digests": self._digests.checkpoint(),
            "hold": self._hold.checkpoint(),
            "names": dict(self._names),
            "left_out": dict(self._left_out),
            "status": self._status,
            "error": self._error,
            "start": self._start,
            "points": dict(self._log.logged),
        }

    def close(self) -> None:
        """Let go of the library. What is still held stays in the state."""
        if self._upload:
            self._upload.stop(_STOP_PATIENCE)
        if self._log.is_open:
            is_over = self._status != "running"
            status, error = (self._status, self._error) if is_over else ("aborted", INTERRUPTED)
            self._log.finish(status, error, self._config.finish_timeout)

    def _write(self, record: Record, now: float) -> None:
        match record:
            case RunStarted():
                self._begin(record)
            case RunFinished():
                self._end(record)
            case StepMetrics():
                self._metrics(record, now)
            case Histogram():
                self._metrics(as_metrics(record), now)
            case Trajectory():
                self._show(self._digests.add(record))
            case LateFacts():
                self._digests.add_late(record)
            case Table():
                self._table(record)
            case Image():
                self._picture(record)
            case _:
                raise TypeError(f"not accepted: {type(record).__name__}")

    def _begin(self, record: RunStarted) -> None:
        self._own.mkdir(parents=True, exist_ok=True)
        replace_file(self._own / "started", msgspec.msgpack.encode(record))
        self._record = record
        self._start = self._start or record.time
        self._status, self._error = "running", ""
        if self._log.is_open:
            self._log.open().describe(self._identity())
        else:
            self._log.open()

    def _end(self, record: RunFinished) -> None:
        self._log.add(self._hold.rest())
        self._show(self._digests.rest(record.time))
        self._log.open()
        self._log.confirm()
        self._status, self._error = record.status, record.error
        self._log.finish(record.status, record.error, self._config.finish_timeout)
        if self._upload:
            self._upload.finish()

    def _metrics(self, record: StepMetrics, now: float) -> None:
        self._show(self._digests.passed(record.step, record.time))
        # The local dashboard has no system view.
        made = host_points if self._mode != "local" and is_of_host(record) else metric_points
        points = list(made(record, self._step(record.step, record.time)))
        self._hold.add((point for point in points if not isinstance(point.value, Media)), now)
        self._log.add(point for point in points if isinstance(point.value, Media))
        self._keep_names(record)

    def _table(self, record: Table) -> None:
        as_text = self._config.tables == "text" or (self._config.tables == "auto" and self._mode == "local")
        self._log.add([table_point(record, self._step(record.step, record.time), as_text, self._config.table_rows)])
        self._leave_out(ROWS, max(len(record.rows) - self._config.table_rows, 0))

    def _picture(self, record: Image) -> None:
        """An image under its name; those of messages have none, and stand in the digest."""
        point = image_point(record, self._step(record.step, record.time)) if record.name else None
        self._log.add([point] if point else [])
        if record.name and not point:
            self._leave_out(NO_IMAGE)

    def _show(self, digests: Iterable[Digest]) -> None:
        for digest in digests:
            step = self._step(digest.step, digest.time)
            images, missing = message_image_points(digest, step)
            self._log.add([*digest_points(digest, step, self._config.messages), *images])
            self._leave_out(NO_IMAGE, missing)

    def _identity(self) -> Identity:
        return identity_of(self._known(), self._config, self._names)

    def _known(self) -> RunStarted:
        """The run as it said itself; a run that has not is named by its id."""
        if self._record is None:
            try:
                self._record = msgspec.msgpack.decode((self._own / "started").read_bytes(), type=RunStarted)
            except FileNotFoundError:
                self._record = RunStarted(run=self._run, name=self._run, project="", time=self._start or 0)
        return self._record

    def _keep_names(self, record: StepMetrics) -> None:
        keys = {metric_key(name, record.split): name for name in record.values}
        new = {key: name for key, name in keys.items() if is_cut(name, key) and key not in self._names}
        if new:
            self._names |= new
            self._log.open().describe(self._identity())

    def _step(self, step: int | None, time: int) -> int:
        """What has no step is placed by whole seconds since the run began."""
        return max(time - (self._start or time), 0) // 1_000_000_000 if step is None else step

    def _leave_out(self, reason: str, number: int = 1) -> None:
        if number:
            self._left_out[reason] = self._left_out.get(reason, 0) + number
