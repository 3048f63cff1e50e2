"""An MLflow server for measurements: one worker, an SQLite file, loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from .backends_cost import size
from .servers import answers, free_ports

_PATIENCE = 120.0


class Server(NamedTuple):
    """A running server."""

    uri: str
    pid: int
    folder: Path

    def bytes(self) -> int:
        """Bytes of its database and artifacts."""
        return size(self.folder)


@contextlib.contextmanager
def server(folder: Path) -> Iterator[Server]:
    """Run a server over `folder`; raises `RuntimeError` when it does not start."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    environment = {
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": f"sqlite:///{folder}/mlflow.db",
        "MLFLOW_ARTIFACTS_DESTINATION": str(folder / "artifacts"),
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        uri = f"http://127.0.0.1:{port}"
        _wait(uri, process)
        yield Server(uri, process.pid, folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=30)


def _wait(uri: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if answers(f"{uri}/health"):
            return
        time.sleep(0.2)
    raise RuntimeError("MLflow's server does not start")
