"""One process beside the bridge: its command, where it answers, how it is ended."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...settings import split_address
from ._guard import GRACE


@dataclass
class Service:
    """What is to run, or why it does not."""

    name: str
    command: Sequence[str] = ()
    """Empty where it cannot be started: `problem` says why."""
    listens: Sequence[str] = ()
    """`host:port` that must be free."""
    where: str = ""
    """Where people look."""
    environment: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    metrics: str = ""
    """URL of its own numbers."""
    needs: Path | None = None
    """File without which it cannot start: it is started when that is there."""
    process: subprocess.Popen[bytes] | None = None

    def start(self, log: Path) -> None:
        """Start it, with its output in `log`. Ctrl-C on the terminal does not reach it: it is ended in its turn."""
        taken = next((address for address in self.listens if _is_taken(address)), "")
        if taken and self.command:
            self.problem = f"{taken} is taken"
        if self.problem or not self.command or self.waits:
            return
        environment = {**os.environ, **self.environment}
        try:
            with open(log, "ab") as output:
                self.process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment, start_new_session=True
                )
        except OSError as error:
            self.problem = str(error)

    @property
    def waits(self) -> bool:
        """Whether what it needs is not there yet."""
        return self.process is None and self.needs is not None and not self.needs.exists()

    @property
    def said(self) -> str:
        """Where to look, or why there is nothing to see."""
        if self.process is not None and (code := self.process.poll()) is not None:
            return f"ended with {code}: see its log"
        if self.problem:
            return f"not started: {self.problem.splitlines()[0]}"
        return f"{self.where} (with the first run)" if self.waits else self.where

    def end(self) -> None:
        """Ask it to end, then kill it with whatever it started. Blocks for a bounded time."""
        if self.process is None:
            return
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def read_metrics(self) -> str:
        """Return its own numbers, empty where it does not answer."""
        with contextlib.suppress(OSError, ValueError), urllib.request.urlopen(self.metrics, timeout=2) as response:
            text: str = response.read().decode("utf-8", "replace")
            return text
        return ""


def _is_taken(address: str) -> bool:
    host, port = split_address(address)
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        return probe.connect_ex((host, port)) == 0
