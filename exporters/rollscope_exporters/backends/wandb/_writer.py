"""Writes the rows of one run: each once, on the disk first and on the server as soon as it answers.

Rows are numbered. `taken` says how many exist already, on the disk or on the server: a row below it is the repetition of one that survived
a crash and is skipped; of one that only the server has, the files are sent again. What the server lacks is read back from the run's folders
and logged again by number, so that an outage, a dead client and a killed worker are all mended in the same way.
"""

from __future__ import annotations

import logging
import time
from pathlib import Path

from ...records import Artifact, RunStarted
from .._protocol import UnavailableError
from ._client import Client
from ._compat import abandon_client
from ._config import WandbConfig
from ._files import RunFiles
from ._guard import ClientLost
from ._history import History
from ._identity import Identity, identity_of
from ._kept import KeptArtifacts
from ._media import Media
from ._names import run_key
from ._rows import Row
from ._server import Server, Unreachable, is_online

INTERRUPTED = 1
"""Exit code of a folder that is not the run's end; W&B then calls the run preempted."""
_SLOW = 5.0
"""Seconds that one row may take before it is asked why."""
log = logging.getLogger("rollscope.wandb")


class RowWriter:
    """The folder of a run that is open, and the rows and artifacts that belong in it.

    `rows` is how many rows the last checkpoint knew of, `names` which keys of metrics were cut.
    """

    def __init__(
        self, config: WandbConfig, root: Path, run: str, files: RunFiles, history: History, rows: int, names: dict[str, str]
    ) -> None:
        self._config, self._root, self._run, self._names = config, root, run, names
        self.id = run_key(run)
        self.server = Server(config)
        self.online = is_online(config, self.server)
        """Whether the run is to be on the server; the folder that is open may be offline nevertheless."""
        self.files, self.history = files, history
        self.media = Media(self.server, files, history)
        self.artifacts = KeptArtifacts(files, self.id)
        found = history.survey()
        self.taken, self._written = max(rows, found.rows), found.rows
        self.ended = found.exit_code
        """Exit code that the newest folder ended with; None while it is open, or when it was only interrupted."""
        self.client: Client | None = None
        self._unsaved: list[tuple[int, Row]] = []
        self._next_look = 0.0
        self._watched = 0

    # -- rows and artifacts -------------------------------------------------------------------------------------------

    def log(self, number: int, row: Row) -> None:
        """Log row `number`, unless it exists already."""
        if number < self._written:
            return
        client = self.opened()
        self._written = number + 1
        if number < self.taken:  # the server had it, and no folder
            self.media.expect(number, client.place(number, row))
            return
        self.taken = number + 1
        self._unsaved.append((number, row))
        began = time.monotonic()
        try:
            self._send(client, number, row)
        except ClientLost:
            self._recover()
        if time.monotonic() - began > _SLOW:
            self._look()

    def log_artifact(self, record: Artifact) -> None:
        """Add a version of an artifact, unless the very same is on its way already."""
        if self.artifacts.keep(record):
            self.artifacts.log(self.opened(), record)

    def sync(self) -> None:
        """Make every row durable; now and then look whether the server keeps up."""
        if self.client is None:
            return
        self._save()
        if self.online and time.monotonic() >= self._next_look:
            self._look()

    def copy(self, client: Client, first: int) -> None:
        """Log rows from `first` on and all artifacts again, out of the older folders."""
        try:
            for number, row in self.history.rows(first, self.taken):
                self._send(client, number, row)
        except UnavailableError:
            self.client = None
            raise
        self.artifacts.log_all(client)

    def _send(self, client: Client, number: int, row: Row) -> None:
        names = client.log(number, row)
        if client.online:
            self.media.expect(number, names)

    def _save(self) -> None:
        try:
            self.opened().wait()
        except ClientLost:
            self._recover()
            self.opened().wait()
        self._unsaved.clear()

    def _recover(self) -> None:
        """Log again, with a new client, what the lost one had not written. Raises `ClientLost` when that one is lost too."""
        abandon_client()
        self.client = None
        self.taken = self._written = self.history.survey().rows
        client = self.open()
        for number, row in self._unsaved:
            if number >= self.taken:
                self._send(client, number, row)
                self.taken = number + 1
            elif number >= self._written:
                self.media.expect(number, client.place(number, row))
        self._written = max(self._written, self.taken)

    # -- the folder that is open --------------------------------------------------------------------------------------

    def identity(self) -> Identity:
        """What W&B is told of the run, as its start was told last."""
        record = self.files.started or RunStarted(run=self._run, name=self._run, project="rollscope", time=0)
        return identity_of(record, self._config, self._names)

    def opened(self) -> Client:
        """The client that is open, or else a new one."""
        return self.client or self.open()

    def open(self) -> Client:
        """Open a folder: online, with what the server lacks, or offline while it cannot be reached."""
        if self.online:
            try:
                return self.open_online()
            except Unreachable as error:
                self.files.mark_needs_sync(str(error))
                log.warning("%s: %s; rows go to an offline folder", self.id, error)
        return self.open_folder(online=False)

    def open_online(self) -> Client:
        """Open a folder online, with what the server lacks. Raises `UnavailableError`."""
        project = self.identity().project
        there = self.server.rows(project, self.id)
        lacking = self.media.survey(project, self.id, there)
        client = self.open_folder(online=True)
        self.media.send(client, lacking)
        self.copy(client, there)
        self.taken = max(self.taken, there)
        self._plan_look()
        return client

    def open_folder(self, *, online: bool) -> Client:
        """Open a folder without anything of the older ones."""
        client = Client(self._config, self.server, self._root, self.identity(), online)
        self.client, self.ended = client, None
        self._plan_look()
        return client

    def close(self, exit_code: int, *, interrupted: bool = False) -> None:
        """End the folder that is open, when there is one, with every row on the disk."""
        if self.client is None:
            return
        self._save()
        client, self.client = self.opened(), None
        client.finish(exit_code, interrupted=interrupted)

    # -- the server ---------------------------------------------------------------------------------------------------

    def _plan_look(self) -> None:
        self._watched = self.taken
        self._next_look = time.monotonic() + max(self._config.recheck, 2 * self._config.upload_interval)

    def _look(self) -> None:
        """Go online again when the server is back, or when the open folder does not reach it any more."""
        client, watched = self.client, self._watched
        self._plan_look()
        project = self.identity().project
        try:
            there = self.server.rows(project, self.id)
            lacking = self.media.lacking(project, self.id, min(there, watched))
        except UnavailableError as error:
            self.files.mark_needs_sync(str(error))
            self._park()
            return
        if client is not None and client.online and there >= watched:
            for name in sorted(lacking):
                client.attach(name)
            self.files.clear_needs_sync()
            return
        log.warning("%s: the server has %d of %d rows; sending the rest", self.id, there, watched)
        self.close(INTERRUPTED, interrupted=True)
        self.open()

    def _park(self) -> None:
        """Go on in an offline folder: online, an artifact would wait twenty seconds for a server that does not answer."""
        if self.client is None or not self.client.online:
            return
        self._save()
        abandon_client()
        self.open_folder(online=False)
