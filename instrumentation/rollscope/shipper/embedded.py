"""The embedded bridge: started when there is something to send and no endpoint is set, and again when it died."""

from __future__ import annotations

import json
import logging
import os
import select
import time
from collections.abc import Mapping
from pathlib import Path

from ..locks import is_held
from ..settings.endpoint import Endpoint, Endpoints
from .backoff import Backoff
from .detach import start_detached

_START_TAKES = 60.0
"""Seconds that a bridge may take from its start until it holds its lock."""
_log = logging.getLogger(__name__)


class EmbeddedBridge:
    """Watches the bridge of one storage folder."""

    def __init__(self, storage: Path, env: Mapping[str, str], console: str | None) -> None:
        self._storage = storage
        self._env = env
        self._console = console
        self._backoff = Backoff()
        self._not_before = 0.0
        self._patience_ends = 0.0
        self.why_not = ""
        """Why it could not be started the last time, empty where it could."""
        self._starting: int | None = None
        """Our end of a pipe whose other end the bridge holds that was started last."""

    def endpoints(self) -> Endpoints | None:
        """Return where the bridge listens; None while it does not, and then it has been started if it was time to."""
        address = self._address()
        if address is not None:
            self._backoff.succeeded()
            return _endpoints(address)
        on_its_way = is_held(self._storage / "bridge.lock") or self._is_starting()
        if not on_its_way and time.monotonic() >= self._not_before:
            self._start()
        return None

    def _address(self) -> str | None:
        if not is_held(self._storage / "bridge.lock"):
            return None
        try:
            found = json.loads((self._storage / "bridge.json").read_text())
            os.kill(int(found["pid"]), 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        address = found.get("http")
        return address if isinstance(address, str) else None

    def _start(self) -> None:
        # Being needed again is how a start that led to nothing shows.
        self._not_before = time.monotonic() + self._backoff.failed()
        self._patience_ends = time.monotonic() + _START_TAKES
        arguments = ["bridge", "--embedded", "--storage", str(self._storage)]
        if self._console:
            arguments += ["--console", self._console]
        try:
            self._storage.mkdir(parents=True, exist_ok=True)
            self._starting, theirs = os.pipe()
            try:
                start_detached("rollscope_exporters.cli", arguments, self._env, self._storage / "bridge.log", keep=[theirs])
            finally:
                os.close(theirs)
            self.why_not = ""
            _log.info("started the embedded bridge on %s", self._storage)
        except OSError as error:
            self.why_not = (
                f"the embedded bridge cannot be started on {self._storage}: {error.strerror}. Set ROLLSCOPE_STORAGE to a folder it can use"
            )
            _log.error("%s", self.why_not)

    def _is_starting(self) -> bool:
        """Whether the bridge that was started last lives and may still take its lock: a busy machine is slow, not dead."""
        if self._starting is None:
            return False
        ended, _, _ = select.select([self._starting], [], [], 0)
        if not ended and time.monotonic() < self._patience_ends:
            return True
        os.close(self._starting)
        self._starting = None
        return False


def _endpoints(address: str) -> Endpoints:
    base = f"http://{address}"
    # Loopback: compressing would cost both sides more than it saves.
    traces, metrics, logs = (Endpoint(f"{base}/v1/{signal}", compression="none") for signal in ("traces", "metrics", "logs"))
    return Endpoints(traces, metrics, logs)
