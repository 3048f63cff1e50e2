"""Drives the library: rows and artifacts into one folder, and an end that never takes longer than it may."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...records import Artifact
from .._protocol import RejectedError, UnavailableError
from ._artifacts import aliases_of, make_artifact
from ._axes import Axes
from ._compat import bound, is_committed, media_path
from ._config import WandbConfig
from ._guard import guarded, is_lost, is_outage, later, within
from ._identity import Identity
from ._names import ROW
from ._opening import open_run, prepare
from ._rows import Bins, Row
from ._server import Server
from ._values import value_of
from ._written import Written

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

_GRACE = 10.0


class Client:
    """One folder of a run, open for writing; `number` on a row is what makes it one of a kind."""

    def __init__(self, config: WandbConfig, server: Server, root: Path, identity: Identity, online: bool) -> None:
        self.online = online
        self._config = config
        prepare(config, root)
        with guarded(server):
            self._run = open_run(config, server, root, identity, online)
            self._axes = Axes(self._run, config.summaries)
        self.folder = Path(self._run.dir).parent
        self._written = Written(self.folder, identity.id, config.flush_interval)
        self._logged = 0
        self._artifacts: list[WandbArtifact] = []

    def log(self, number: int, row: Row) -> list[str]:
        """Log a row; returns the names of the files that it refers to."""
        values, names = self._placed(number, row)
        with guarded():
            self._axes.define(row)
            self._run.log({**values, ROW: number}, commit=True)
        self._logged = number + 1
        return names

    def place(self, number: int, row: Row) -> list[str]:
        """Upload only the files of a row that the server has; returns their names."""
        return self._placed(number, row)[1]

    def _placed(self, number: int, row: Row) -> tuple[dict[str, object], list[str]]:
        """The values of a row as the library takes them, and the names of the files that they refer to."""
        names: list[str] = []
        with guarded(), tempfile.TemporaryDirectory() as folder:
            values = {key: self._shown(key, number, value, Path(folder), names) for key, value in row.items()}
        self._written.expect(names)
        return values, names

    def _shown(self, key: str, number: int, value: object, folder: Path, names: list[str]) -> object:
        """A value as the library takes it; `names` gets those of the files it refers to."""
        shown = value_of(value, folder)
        if shown is value or isinstance(value, Bins) or isinstance(shown, str):
            return shown
        reference, files = bound(self._run, key, number, shown)
        names += files
        return reference

    def attach(self, name: str, file: Path | None = None) -> None:
        """Upload a file that a row refers to: `file` of an older folder, or once more one of this folder."""
        place = media_path(self.folder, name)
        if file is not None and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, place)
        with guarded():
            self._run.save(str(place), base_path=str(place.parents[len(Path(name).parts) - 1]), policy="now", glob=False)

    def log_artifact(self, artifact: Artifact) -> None:
        """Add a version of an artifact."""
        made = make_artifact(artifact)
        with guarded():
            self.hand_over(made, aliases_of(artifact))
        self._artifacts.append(made)

    def settle(self) -> bool:
        """Wait for the artifacts that were logged, for `finish_timeout` at most; whether the server has made a version of each."""
        until = time.monotonic() + self._config.finish_timeout
        return all(is_committed(made, max(until - time.monotonic(), 0.0)) for made in self._artifacts)

    def publish(self, made: WandbArtifact, aliases: list[str] | None, is_open: Callable[[], bool]) -> None:
        """Log an artifact and wait until the server has made a version of it or, offline, until it stands on the disk.

        May be called from another thread than everything else. Raises `UnavailableError` when `is_open` says that this folder is no more.
        """
        try:
            self.hand_over(made, aliases)
            committed = later(lambda: is_committed(made, None)) if self.online else self._written.holds(made)
            while not committed():
                if not is_open():
                    raise UnavailableError("the folder was closed before the artifact was away")
                time.sleep(min(1.0, self._config.flush_interval))
        except Exception as error:
            if is_lost(error) or is_outage(error):
                raise UnavailableError(f"W&B does not take it now: {type(error).__name__} {str(error)[:200]}") from error
            raise

    def hand_over(self, made: WandbArtifact, aliases: list[str] | None) -> None:
        """Log an artifact; the client uploads it beside everything else."""
        try:
            self._run.log_artifact(made, aliases=aliases)
        except ValueError as error:  # of another type than its earlier versions
            raise RejectedError(f"W&B takes no such artifact: {error}") from error

    def describe(self, identity: Identity) -> None:
        """Bring what is told of the run up to date."""
        with guarded():
            config: Any = self._run.config
            config.update(identity.config, allow_val_change=True)
            self._run.name, self._run.tags, self._run.notes = identity.name, tuple(identity.tags), identity.notes

    def summarize(self, values: Mapping[str, object]) -> None:
        with guarded():
            self._run.summary.update(dict(values))

    def wait(self) -> None:
        """Return when every row stands in the transaction log, on the disk. Raises `ClientLost` when they never do."""
        self._written.wait_for_rows(self._logged)

    def finish(self, exit_code: int, *, interrupted: bool = False) -> None:
        """End the folder, uploading for `finish_timeout` at most. Raises `ClientLost` when the client hangs; it is then killed."""

        def end() -> None:
            if interrupted:
                self._run.mark_preempting()
            self._run.finish(exit_code=exit_code)

        with guarded():
            within(self._config.finish_timeout + _GRACE, end)
        self._written.wait_for_end()
