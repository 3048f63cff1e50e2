"""Deliver to a backend as the bridge does: its store, its pipeline, and the backend's real worker process."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rollscope_exporters.positions import read_workers
from rollscope_exporters.receiver import Inbox
from rollscope_exporters.settings import backend_class
from rollscope_exporters.store import Store

from .backends_cost import Cost, Meter
from .otlp_rollouts import Request
from .pipeline import pipeline

_RUN = "bench"
_PATIENCE = 600.0


class Bridge:
    """Pipeline and store in this process, fed by hand."""

    def __init__(self, storage: Path) -> None:
        self.storage = storage
        self.store = Store.open(storage / "store.db")
        self._loop = pipeline(storage, self.store)

    def take(self, requests: Iterable[Request]) -> None:
        """Let requests through, down to rows of the outbox."""
        asyncio.run(_fill(self.storage / "inbox", requests))
        while self._loop.turn():
            pass

    def payloads(self) -> list[bytes]:
        """All rows."""
        return [row[0] for row in self.store.db.execute("SELECT payload FROM outbox ORDER BY id")]

    def delivered(self) -> bool:
        """Whether the worker has passed every row."""
        return min((worker.position for worker in read_workers(self.storage)), default=-1) >= self.store.head()


async def _fill(folder: Path, requests: Iterable[Request]) -> None:
    inbox = Inbox(folder, 8 << 30)
    for signal, payload in requests:
        await inbox.put(signal, payload)
    await inbox.close()


@contextmanager
def worker(storage: Path, backend: str, section: dict[str, object]) -> Iterator[subprocess.Popen[bytes]]:
    """Run the worker of `backend`; it ends in good order with the block."""
    config = storage / "rollscope.yaml"
    config.write_text(json.dumps({"backends": {backend: section}}))  # JSON is YAML
    command = [sys.executable, "-m", "rollscope_exporters.worker", "--storage", str(storage), "--backend", backend]
    command += ["--config", str(config), "--supervised", *(["--run", _RUN] if backend_class(backend).per_run else [])]
    environment = {**os.environ, "SWANLAB_LOG_LEVEL": "error", "MLFLOW_DISABLE_TELEMETRY": "true"}
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=sys.stderr, env=environment)
    try:
        yield process
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=_PATIENCE)


def deliver(requests: list[list[Request]], storage: Path, out: Path, backend: str, section: dict[str, object]) -> Cost:
    """Return what it costs the worker to bring everything behind the first round of requests into `out`."""
    bridge = Bridge(storage)
    bridge.take(requests[0])
    with worker(storage, backend, section) as process:
        _wait(bridge, process)
        meter = Meter(process.pid, out)
        for round in requests[1:]:
            bridge.take(round)
        _wait(bridge, process)
        cost = meter.read()
    bridge.store.close()
    return cost


def _wait(bridge: Bridge, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not bridge.delivered():
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"the worker does not deliver (exit {process.returncode})")
        time.sleep(0.05)


def material(requests: list[list[Request]], storage: Path, file: Path) -> int:
    """Write the same records for a library that is called directly; return how many there are."""
    bridge = Bridge(storage)
    for round in requests:
        bridge.take(round)
    payloads = bridge.payloads()
    file.write_bytes(msgspec.msgpack.encode(payloads))
    bridge.store.close()
    return len(payloads)
