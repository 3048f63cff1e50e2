"""Starting the node's shipper when it does not run."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path

from ..locks import FileLock, is_held
from .detach import start_detached

LOCK = "shipper.lock"
STARTING = "shipper.starting"
"""Held by whoever starts a shipper, and by the shipper until it has the lock itself."""
STARTING_FD = "ROLLSCOPE_STARTING_FD"
CONSOLE = "ROLLSCOPE_CONSOLE"
"""Where the embedded bridge's console lines go: the trainer's terminal or log file, by path."""


def ensure_running(directory: str | os.PathLike[str], env: Mapping[str, str] | None = None) -> None:
    """Start the shipper of `directory` unless it runs; costs one look at a lock when it does.

    Safe from any number of processes at once: one of them starts it. `env` is the environment it gets, by default ours. The
    shipper survives us and keeps none of our descriptors. Raises `OSError` when it cannot be started.
    """
    folder = Path(directory)
    if is_held(folder / LOCK):
        return
    folder.mkdir(parents=True, exist_ok=True)
    starting = FileLock(folder / STARTING)
    try:
        if starting.acquire() and not is_held(folder / LOCK):
            start_detached(
                "rollscope.shipper",
                [str(folder)],
                _environment(os.environ if env is None else env, starting.fd),
                folder / "shipper.log",
                keep=(starting.fd,),
            )
    finally:
        starting.close()


def _environment(env: Mapping[str, str], starting: int) -> dict[str, str]:
    environment = {**env, STARTING_FD: str(starting)}
    if CONSOLE not in environment and (console := console_path()):
        environment[CONSOLE] = console
    return environment


def console_path() -> str | None:
    """Return the path of our standard output where it is a terminal or a regular file, else None: a pipe must be able to end."""
    try:
        mode = os.fstat(1).st_mode
        if stat.S_ISREG(mode) or os.isatty(1):
            path = os.readlink("/proc/self/fd/1")
            return path if path.startswith("/") and os.path.exists(path) else None
    except OSError:
        pass
    return None
