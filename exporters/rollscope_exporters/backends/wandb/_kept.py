"""Artifacts of one run, kept on the disk until it is over: a client that dies takes its uploads with it."""

from __future__ import annotations

import logging
from contextlib import suppress

from ...records import Artifact
from .._protocol import RejectedError
from ._artifacts import make_artifact
from ._client import Client
from ._files import RunFiles

log = logging.getLogger("rollscope.wandb")


class KeptArtifacts:
    """Logs artifacts with the client that is open, and all of them again with another one."""

    def __init__(self, files: RunFiles, run_id: str) -> None:
        self._files, self._run_id = files, run_id
        self.owed = next(files.artifacts(), None) is not None
        """Whether some may not have reached W&B: they are logged again before the run ends."""

    def keep(self, record: Artifact) -> bool:
        """Keep an artifact; False when the very same is kept already. Raises `RejectedError` for one that W&B does not take."""
        make_artifact(record)
        return self._files.keep_artifact(record)

    def log(self, client: Client, record: Artifact) -> None:
        """Log one of the kept artifacts; what goes wrong with the server is made good when the run is opened again or ends."""
        try:
            client.log_artifact(record)
        except RejectedError:
            self._files.drop_artifact(record)
            raise
        except Exception as error:  # noqa: BLE001 - the library asks the server first and raises whatever comes of that
            self.owed = True
            log.warning("%s: artifact %s waits: %s", self._run_id, record.name, error)

    def log_all(self, client: Client) -> None:
        """Log all that are kept, with a client that has none of them."""
        self.owed = False
        for record in self._files.artifacts():
            with suppress(RejectedError):
                self.log(client, record)

    def settle(self, client: Client) -> None:
        """Wait until the server has made a version of each that `client` logged; otherwise they stay owed."""
        try:
            self.owed = not client.settle()
        except Exception as error:  # noqa: BLE001 - a client that died, or what the server said of an artifact
            log.warning("%s: an artifact waits: %s", self._run_id, error)
            self.owed = True

    def clear(self) -> None:
        """Let go of them: all are away."""
        self._files.clear_artifacts()
