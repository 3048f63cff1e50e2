"""One run on its way to W&B: every row once, on the disk first and on the server as soon as it answers.

Rows are numbered. `next` is the number of the row that the records call for next, `_taken` how many rows exist already, on the disk or on
the server: a row below it is the repetition of one that survived a crash and is skipped; of one that only the server has, the files are
sent again. What the server lacks is read back from the run's folders and logged again by number, so that an outage, a dead client and a
killed worker are all mended in the same way.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from ...records import Artifact, RunStarted
from .._protocol import RejectedError, UnavailableError
from ._artifacts import make_artifact
from ._client import Client
from ._compat import abandon_client
from ._config import WandbConfig
from ._files import NeedsSync, RunFiles
from ._guard import ClientLost
from ._history import History
from ._identity import Identity, identity_of
from ._media import Media
from ._names import HOURS, run_key
from ._rows import TIMESTAMP, Row
from ._server import Server, Unreachable

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

    Published = tuple[WandbArtifact, list[str] | None]
INTERRUPTED = 1
"""Exit code of a folder that is not the run's end; W&B then calls the run preempted."""
_SLOW = 5.0
"""Seconds that one row may take before it is asked why."""
log = logging.getLogger("rollscope.wandb")


class Run:
    """One run. `rows` is how many rows the last checkpoint knew of, `names` which keys of metrics were cut."""

    def __init__(self, config: WandbConfig, root: Path, run: str, rows: int, names: dict[str, str]) -> None:
        self._config, self._root = config, root
        self._run, self.id = run, run_key(run)
        self._server = Server(config)
        self._online = is_online(config, self._server)
        self.files, self._history = RunFiles(root, self.id), History(root, self.id)
        self._media = Media(self._server, self.files, self._history)
        self._remove_joined()
        found = self._history.survey()
        self.next, self._taken, self._written = rows, max(rows, found.rows), found.rows
        self._ended = found.exit_code
        self.names = names
        self._client: Client | None = None
        self._unsaved: list[tuple[int, Row]] = []
        self._next_look = 0.0
        self._watched = 0
        known = self.files.started
        self._began = known.time if known else None
        self._artifacts_owed = next(self.files.artifacts(), None) is not None

    def start(self, record: RunStarted) -> None:
        """Begin the run, or go on with it."""
        self._began = self.files.keep_start(record)
        if self._client is None:
            self._open()
        else:
            self._client.describe(self._identity())

    def log(self, row: Row) -> None:
        """Log the next row, unless it exists already."""
        number, self.next = self.next, self.next + 1
        if number < self._written:
            return
        client = self._opened()
        self._written = number + 1
        if number < self._taken:  # the server had it, and no folder
            self._media.expect(number, client.place(number, row))
            return
        self._taken = number + 1
        row = row | self._hours(row)
        self._unsaved.append((number, row))
        began = time.monotonic()
        try:
            self._send(client, number, row)
        except ClientLost:
            self._recover()
        if time.monotonic() - began > _SLOW:
            self._look()

    def _hours(self, row: Row) -> Row:
        at = row.get(TIMESTAMP)
        return {HOURS: (at - self._began / 1e9) / 3600} if self._began is not None and isinstance(at, float) else {}

    def log_artifact(self, record: Artifact) -> None:
        """Add a version of an artifact. It is kept until the run is over, for a client that dies takes its uploads with it."""
        make_artifact(record)
        if self.files.keep_artifact(record):
            self._log_artifact(self._opened(), record)

    def publish(self, made: WandbArtifact, aliases: list[str] | None) -> None:
        """Bring an artifact to its end with the client that is open; for the thread of uploads.

        Raises `UnavailableError` where none is, or where the one that is open does not reach the server.
        """
        client = self._client
        if client is None or client.online != self._online:
            raise UnavailableError(f"{self.id} is not open towards W&B now")
        client.publish(made, aliases, lambda: self._client is client)

    def stay_open(self) -> bool:
        """Keep a folder open for `publish`; False when the server was out of reach for longer than `patience`."""
        self._opened()
        self.sync()
        mark = self.files.needs_sync
        return self._opened().online == self._online or mark is None or time.time() - mark.since < self._config.patience

    def describe(self) -> None:
        """Tell W&B the configuration again: names were added."""
        if self._client is not None:
            self._client.describe(self._identity())

    def sync(self) -> None:
        """Make every row durable; now and then look whether the server keeps up."""
        if self._client is None:
            return
        self._save()
        if self._online and time.monotonic() >= self._next_look:
            self._look()

    def finish(self, exit_code: int, summary: dict[str, object], published: Iterable[Published] = ()) -> None:
        """End the run. `published`: what `publish` was given, which belongs into a folder that joins others.

        Raises `UnavailableError` while the server lacks rows and `patience` is not used up.
        """
        if self._online:
            self._finish_online(exit_code, summary)
        elif self._client is not None or self._ended != exit_code or self.next > self._taken:
            self._finish_offline(exit_code, summary, published)
        self._ended = exit_code

    def connect(self) -> None:
        """Open a folder online. Raises `UnavailableError`."""
        self._open_online()

    def resend(self, exit_code: int) -> None:
        """Send what the server lacks and end the run. Raises `UnavailableError`."""
        self._deliver(exit_code, {})

    def pause(self) -> None:
        """Let go of the run without ending it."""
        try:
            self._end(INTERRUPTED, interrupted=True)
        except UnavailableError as error:
            log.warning("%s: %s; the rest is sent when the run goes on", self.id, error)

    def _open(self) -> Client:
        """Open a folder: online, with what the server lacks, or offline while it cannot be reached."""
        if self._online:
            try:
                return self._open_online()
            except Unreachable as error:
                self._mark(str(error))
                log.warning("%s: %s; rows go to an offline folder", self.id, error)
        return self._open_folder(online=False)

    def _open_online(self) -> Client:
        project = self._identity().project
        there = self._server.rows(project, self.id)
        lacking = self._media.survey(project, self.id, there)
        client = self._open_folder(online=True)
        self._media.send(client, lacking)
        self._copy(client, there)
        self._taken = max(self._taken, there)
        self._plan_look()
        return client

    def _open_folder(self, *, online: bool) -> Client:
        client = Client(self._config, self._server, self._root, self._identity(), online)
        self._client, self._ended = client, None
        self._plan_look()
        return client

    def _copy(self, client: Client, first: int) -> None:
        """Log rows from `first` on and all artifacts again, out of the older folders."""
        try:
            for number, row in self._history.rows(first, self._taken):
                self._send(client, number, row)
        except UnavailableError:
            self._client = None
            raise
        self._artifacts_owed = False
        for artifact in self.files.artifacts():
            with suppress(RejectedError):
                self._log_artifact(client, artifact)

    def _log_artifact(self, client: Client, record: Artifact) -> None:
        """Log one of the kept artifacts; what goes wrong with the server is made good when the run is opened again or ends."""
        try:
            client.log_artifact(record)
        except RejectedError:
            self.files.drop_artifact(record)
            raise
        except Exception as error:  # noqa: BLE001 - the library asks the server first and raises whatever comes of that
            self._artifacts_owed = True
            log.warning("%s: artifact %s waits: %s", self.id, record.name, error)

    def _opened(self) -> Client:
        return self._client or self._open()

    def _identity(self) -> Identity:
        record = self.files.started or RunStarted(run=self._run, name=self._run, project="rollscope", time=0)
        return identity_of(record, self._config, self.names)

    def _save(self) -> None:
        try:
            self._opened().wait()
        except ClientLost:
            self._recover()
            self._opened().wait()
        self._unsaved.clear()

    def _recover(self) -> None:
        """Log again, with a new client, what the lost one had not written. Raises `ClientLost` when that one is lost too."""
        abandon_client()
        self._client = None
        self._taken = self._written = self._history.survey().rows
        client = self._open()
        for number, row in self._unsaved:
            if number >= self._taken:
                self._send(client, number, row)
                self._taken = number + 1
            elif number >= self._written:
                self._media.expect(number, client.place(number, row))
        self._written = max(self._written, self._taken)

    def _send(self, client: Client, number: int, row: Row) -> None:
        names = client.log(number, row)
        if client.online:
            self._media.expect(number, names)

    def _plan_look(self) -> None:
        self._watched = self._taken
        self._next_look = time.monotonic() + max(self._config.recheck, 2 * self._config.upload_interval)

    def _look(self) -> None:
        """Go online again when the server is back, or when the open folder does not reach it any more."""
        client, watched = self._client, self._watched
        self._plan_look()
        project = self._identity().project
        try:
            there = self._server.rows(project, self.id)
            lacking = self._media.lacking(project, self.id, min(there, watched))
        except UnavailableError as error:
            self._mark(str(error))
            self._park()
            return
        if client is not None and client.online and there >= watched:
            for name in sorted(lacking):
                client.attach(name)
            self.files.clear_needs_sync()
            return
        log.warning("%s: the server has %d of %d rows; sending the rest", self.id, there, watched)
        self._end(INTERRUPTED, interrupted=True)
        self._open()

    def _park(self) -> None:
        """Go on in an offline folder: online, an artifact would wait twenty seconds for a server that does not answer."""
        if self._client is None or not self._client.online:
            return
        self._save()
        abandon_client()
        self._open_folder(online=False)

    def _end(self, exit_code: int, *, interrupted: bool = False) -> None:
        if self._client is None:
            return
        self._save()
        client, self._client = self._opened(), None
        client.finish(exit_code, interrupted=interrupted)

    def _finish_online(self, exit_code: int, summary: dict[str, object]) -> None:
        try:
            self._deliver(exit_code, summary)
        except UnavailableError as error:
            mark = self._mark(str(error), exit_code)
            if time.time() - mark.since < self._config.patience:
                raise
            log.error("%s: %s. Later: python -m rollscope_exporters.backends.wandb %s", self.id, error, self._root)
            self._end(exit_code)

    def _deliver(self, exit_code: int, summary: dict[str, object]) -> None:
        """Finish online, and make sure that everything arrived."""
        project = self._identity().project
        if self._client is None or not self._client.online:
            self._server.rows(project, self.id)  # while it does not answer, the open folder stays as it is
            self._end(INTERRUPTED, interrupted=True)
            self._open_online()
        if self._artifacts_owed:
            self._copy(self._opened(), self._taken)
        self._opened().summarize(summary)
        self._artifacts_owed = not self._settled()
        self._end(exit_code)
        there = self._server.rows(project, self.id)
        missing, lacking = self._taken - there, len(self._media.lacking(project, self.id, there))
        if missing > 0 or lacking or self._artifacts_owed:
            raise Unreachable(f"W&B at {self._server.base_url} still lacks {missing} rows, {lacking} of their files or some artifact")
        self.files.clear_needs_sync()
        self.files.clear_artifacts()

    def _settled(self) -> bool:
        try:
            return self._opened().settle()
        except Exception as error:  # noqa: BLE001 - a client that died, or what the server said of an artifact
            log.warning("%s: an artifact waits: %s", self.id, error)
            return False

    def _mark(self, reason: str, exit_code: int | None = None) -> NeedsSync:
        known = self.files.needs_sync
        mark = NeedsSync(known.since if known else time.time(), reason, exit_code)
        self.files.mark_needs_sync(mark)
        return mark

    def _finish_offline(self, exit_code: int, summary: dict[str, object], published: Iterable[Published]) -> None:
        """End the run; folders that restarts left are joined into one first, which any `wandb sync` takes."""
        client = self._opened()
        old = self._history.folders
        join = len(old) > 1 and self._history.size() <= self._config.merge_bytes
        if join:
            self._end(INTERRUPTED, interrupted=True)
            client = self._open_folder(online=False)
        if len(old) > 1 or self._artifacts_owed:
            self._copy(client, 0 if join else self._taken)
        for made, aliases in published if join else ():
            client.hand_over(made, aliases)
        client.summarize(summary)
        self._end(exit_code)
        if join:
            self.files.mark_joined(client.folder.name)
            self._remove_joined()
        elif len(old) > 1:
            self._mark(f"{len(old)} folders are too large to be joined (merge_bytes)", exit_code)
        self.files.clear_artifacts()

    def _remove_joined(self) -> None:
        """Remove folders whose rows stand in the one that they were joined into."""
        if joined := self.files.joined:
            self._history.remove([folder for folder in self._history.folders if folder.name != joined])
            self.files.clear_joined()


def is_online(config: WandbConfig, server: Server) -> bool:
    """Where the configuration leaves it open: as `WANDB_MODE` says, else online when there is an API key."""
    said = config.mode if config.mode != "auto" else os.environ.get("WANDB_MODE", "")
    return said == "online" or (said not in {"offline", "disabled", "dryrun"} and bool(server.api_key))
