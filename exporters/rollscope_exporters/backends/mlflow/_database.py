"""Makes the database of an SQLite store whole or not at all.

MLflow builds its tables by dozens of migrations that are not one transaction: a process killed among them leaves a file that
can never be opened again. So the first database is built aside and renamed when it is whole, under a lock that everybody who
may be first takes.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

from .._protocol import UnavailableError
from ._lean import hidden

_BUILD = f"""
import sys
from {hidden.__module__} import hidden
with hidden():
    from mlflow import MlflowClient
    MlflowClient(sys.argv[1]).search_experiments(max_results=1)
"""
_DEADLINE = 120.0
"""Seconds; it takes two to three on an idle machine."""


def ensure_database(uri: str) -> None:
    """Build the database of `uri` where it is an SQLite file that does not exist; leave everything else alone.

    Raises `UnavailableError` when it cannot be built.
    """
    if not uri.startswith("sqlite:///"):
        return
    path = Path(uri.removeprefix("sqlite:///").partition("?")[0]).absolute()
    path.parent.mkdir(parents=True, exist_ok=True)
    if _exists(path):
        return
    with path.with_name(f"{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not _exists(path):
            _build(path, lock.fileno())


def _exists(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0


def _build(path: Path, lock: int) -> None:
    aside = path.with_name(f"{path.name}.new")
    for left in (aside, aside.with_name(f"{aside.name}-journal")):
        left.unlink(missing_ok=True)
    # The builder holds the lock too: if this process is killed, nobody else begins before the builder has ended.
    command = [sys.executable, "-c", _BUILD, f"sqlite:///{aside}"]
    env = {**os.environ, "MLFLOW_DISABLE_TELEMETRY": "true"}
    try:
        done = subprocess.run(command, pass_fds=(lock,), env=env, cwd=path.parent, capture_output=True, text=True, timeout=_DEADLINE)
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"MLflow took longer than {_DEADLINE:.0f} s to create {path}") from None
    if done.returncode:
        raise UnavailableError(f"MLflow could not create {path}: {done.stderr.strip()[-500:]}")
    aside.replace(path)
