"""Starts uploads of a run's folder and ends those that take too long. Each is a process of its own: the library holds one run in a process
and can wait for a server for ever."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from .._protocol import UnavailableError
from ._config import SwanlabConfig
from ._server import Server

_LONGEST_ROUND = 600.0
"""Seconds after which an upload in the background is ended."""
log = logging.getLogger("rollscope.swanlab")


class Upload:
    """Rounds of uploads of one run: in the background while it goes on, waited for at its end."""

    def __init__(self, config: SwanlabConfig, server: Server, root: Path, run_id: str) -> None:
        self._config = config
        self._request = {"root": str(root), "run": run_id, **asdict(server)}
        self._process: subprocess.Popen[bytes] | None = None
        self._output: IO[bytes] | None = None
        self._started = self._due = 0.0

    def tick(self, now: float) -> None:
        """Start a round when one is due; look after the one that runs."""
        if self._process is None:
            if now >= self._due:
                self._start(now, final=False)
        elif self._process.poll() is not None:
            self._ended(now)
        elif now - self._started > _LONGEST_ROUND:
            self.stop()
            self._due = now + self._config.sync_interval

    def finish(self) -> None:
        """Upload the rest and the run's end. Raises `UnavailableError` when that does not work now."""
        self.stop(self._config.finish_timeout)
        self._start(time.monotonic(), final=True)
        assert self._process
        try:
            code = self._process.wait(self._config.finish_timeout)
        except subprocess.TimeoutExpired:
            self.stop()
            raise UnavailableError(f"the upload to {self._request['api_host']} takes longer than finish_timeout") from None
        if code:
            reason = self._last_words()
            self.stop()
            raise UnavailableError(f"the upload to {self._request['api_host']} failed: {reason}")
        self.stop()

    def stop(self, patience: float = 0.0) -> None:
        """End what runs, after `patience` seconds by force: of a round that is cut short nobody knows what arrived, and steps below the
        server's last one are then not sent again."""
        if self._process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(patience)
            self._process.kill()
            self._process.wait()
            if self._process.stdin:
                with contextlib.suppress(BrokenPipeError):
                    self._process.stdin.close()
        if self._output:
            self._output.close()
        self._process = self._output = None

    def _start(self, now: float, *, final: bool) -> None:
        request: dict[str, Any] = {**self._request, "final": final}
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the process
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rollscope_exporters.backends.swanlab._sync"],
            stdin=subprocess.PIPE,
            stdout=self._output,
            stderr=subprocess.STDOUT,
        )
        self._started = now
        assert self._process.stdin
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()

    def _ended(self, now: float) -> None:
        assert self._process
        if self._process.returncode:
            log.warning("an upload to SwanLab failed and will be tried again: %s", self._last_words())
        self._due = now + self._config.sync_interval
        self.stop()

    def _last_words(self) -> str:
        if self._output is None:
            return ""
        self._output.seek(0)
        lines = self._output.read().decode("utf-8", "replace").strip().splitlines()
        return lines[-1][:500] if lines else "without a word"
