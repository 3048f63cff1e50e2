"""One run on its way to W&B, from its start to its end: rows get their numbers here, and outages their patience."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from ...records import Artifact, RunStarted
from .._protocol import UnavailableError
from ._config import WandbConfig
from ._ending import deliver, finish_offline, remove_joined
from ._files import RunFiles
from ._history import History
from ._names import HOURS, run_key
from ._rows import TIMESTAMP, Row
from ._writer import INTERRUPTED, RowWriter

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

    from ._ending import Published
log = logging.getLogger("rollscope.wandb")


class Run:
    """One run. `rows` is how many rows the last checkpoint knew of, `names` which keys of metrics were cut."""

    def __init__(self, config: WandbConfig, root: Path, run: str, rows: int, names: dict[str, str]) -> None:
        self._config, self._root = config, root
        self.id = run_key(run)
        self.files, history = RunFiles(root, self.id), History(root, self.id)
        remove_joined(self.files, history)
        self.next = rows
        """Number of the row that the records call for next."""
        self.names = names
        self._writer = RowWriter(config, root, run, self.files, history, rows, names)
        known = self.files.started
        self._began = known.time if known else None

    def start(self, record: RunStarted) -> None:
        """Begin the run, or go on with it."""
        self._began = self.files.keep_start(record)
        if self._writer.client is None:
            self._writer.open()
        else:
            self.describe()

    def describe(self) -> None:
        """Tell W&B the configuration again: names were added."""
        if (client := self._writer.client) is not None:
            client.describe(self._writer.identity())

    def log(self, row: Row) -> None:
        """Log the next row, unless it exists already."""
        number, self.next = self.next, self.next + 1
        self._writer.log(number, row | self._hours(row))

    def _hours(self, row: Row) -> Row:
        at = row.get(TIMESTAMP)
        return {HOURS: (at - self._began / 1e9) / 3600} if self._began is not None and isinstance(at, float) else {}

    def log_artifact(self, record: Artifact) -> None:
        """Add a version of an artifact. It is kept until the run is over, for a client that dies takes its uploads with it."""
        self._writer.log_artifact(record)

    def publish(self, made: WandbArtifact, aliases: list[str] | None) -> None:
        """Bring an artifact to its end with the client that is open; for the thread of uploads.

        Raises `UnavailableError` where none is, or where the one that is open does not reach the server.
        """
        writer, client = self._writer, self._writer.client
        if client is None or client.online != writer.online:
            raise UnavailableError(f"{self.id} is not open towards W&B now")
        client.publish(made, aliases, lambda: writer.client is client)

    def stay_open(self) -> bool:
        """Keep a folder open for `publish`; False when the server was out of reach for longer than `patience`."""
        writer = self._writer
        writer.opened()
        writer.sync()
        mark = self.files.needs_sync
        return writer.opened().online == writer.online or mark is None or time.time() - mark.since < self._config.patience

    def sync(self) -> None:
        """Make every row durable; now and then look whether the server keeps up."""
        self._writer.sync()

    def finish(self, exit_code: int, summary: dict[str, object], published: Iterable[Published] = ()) -> None:
        """End the run. `published`: what `publish` was given, which belongs into a folder that joins others.

        Raises `UnavailableError` while the server lacks rows and `patience` is not used up.
        """
        writer = self._writer
        if writer.online:
            self._finish_online(exit_code, summary)
        elif writer.client is not None or writer.ended != exit_code or self.next > writer.taken:
            finish_offline(writer, exit_code, summary, published, self._config.merge_bytes)
        writer.ended = exit_code

    def _finish_online(self, exit_code: int, summary: dict[str, object]) -> None:
        try:
            deliver(self._writer, exit_code, summary)
        except UnavailableError as error:
            mark = self.files.mark_needs_sync(str(error), exit_code)
            if time.time() - mark.since < self._config.patience:
                raise
            log.error("%s: %s. Later: python -m rollscope_exporters.backends.wandb %s", self.id, error, self._root)
            self._writer.close(exit_code)

    def connect(self) -> None:
        """Open a folder online. Raises `UnavailableError`."""
        self._writer.open_online()

    def resend(self, exit_code: int) -> None:
        """Send what the server lacks and end the run. Raises `UnavailableError`."""
        deliver(self._writer, exit_code, {})

    def pause(self) -> None:
        """Let go of the run without ending it."""
        try:
            self._writer.close(INTERRUPTED, interrupted=True)
        except UnavailableError as error:
            log.warning("%s: %s; the rest is sent when the run goes on", self.id, error)
