"""Delivers from a process of its own that kills itself: the crash of the conformance suite is a real one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import cast

import msgspec

from ..backends import Backend
from ..records import Record
from ._deliver import deliver


def deliver_and_die(
    backend: str, config: Mapping[str, object], storage: Path, state: Mapping[str, object], records: Sequence[Record]
) -> None:
    """Write `records` from a new process that then gets SIGKILL: no checkpoint, no close, no flush at exit.

    `backend` is `module:Class`. Raises `RuntimeError` with the process's output when it ended before its time.
    """
    batch = storage / "crash.msgpack"
    batch.write_bytes(msgspec.msgpack.encode(list(records)))
    request = json.dumps({"backend": backend, "config": dict(config), "storage": str(storage), "state": dict(state), "batch": str(batch)})
    path = os.pathsep.join(entry for entry in sys.path if entry)
    process = subprocess.run(
        [sys.executable, "-m", "rollscope_exporters.testing._crash"],
        input=request.encode(),
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    batch.unlink()
    if process.returncode != -signal.SIGKILL:
        raise RuntimeError(f"the delivering process ended with {process.returncode}: {process.stderr.decode(errors='replace')}")


def _main() -> None:
    request = json.load(sys.stdin)
    module, _, name = request["backend"].partition(":")
    kind = cast("type[Backend]", getattr(import_module(module), name))
    records = msgspec.msgpack.Decoder(list[Record]).decode(Path(request["batch"]).read_bytes())
    backend = kind(kind.Config.model_validate(request["config"]), Path(request["storage"]), request["state"])
    deliver(backend, records)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _main()
