"""One bridge per storage folder: `bridge.lock` is held, `bridge.json` says where it listens."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from rollscope.files import replace_file
from rollscope.locks import FileLock, is_held

_PATIENCE = 0.2
"""Seconds: who looks whether a bridge runs holds the lock for a moment."""


class LockedError(Exception):
    """When another bridge already runs on the storage."""


class StorageError(Exception):
    """When the storage cannot be used."""


class RemovedError(Exception):
    """When the storage was removed under a running bridge."""


class StorageLock:
    """Held from start to end; the system lets go of it when the process ends, however it ends."""

    def __init__(self, storage: Path) -> None:
        """Take the lock. Raises LockedError, or StorageError when the folder cannot be written."""
        self._storage = storage
        try:
            storage.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(storage / "bridge.lock")
        except OSError as error:
            raise StorageError(
                f"storage: {storage} is no folder that can be written ({error.strerror}). "
                "Set `storage`, --storage or ROLLSCOPE_STORAGE to one on a local disk"
            ) from error
        if not self._lock.acquire(_PATIENCE):
            self._lock.close()
            raise LockedError(_held(storage))

    def announce(self, grpc: str | None, http: str | None) -> None:
        """Write `bridge.json`; addresses are `host:port`."""
        announced = json.dumps({"pid": os.getpid(), "grpc": grpc, "http": http}) + "\n"
        replace_file(self._storage / "bridge.json", announced.encode())

    def check(self) -> None:
        """Raise RemovedError when the storage is no longer there, or is another one."""
        if not self._lock.named(self._storage / "bridge.lock"):
            raise RemovedError(
                f"the storage {self._storage} was removed while the bridge runs: what was in it and not delivered is lost, and the ledger "
                "of the next bridge names it as missing. Senders keep the rest; start the bridge again"
            )

    def release(self) -> None:
        """Let go; `bridge.json` goes first, so that nobody is sent to a bridge that is gone."""
        if self._lock.named(self._storage / "bridge.lock"):
            (self._storage / "bridge.json").unlink(missing_ok=True)
        self._lock.close()


def read_bridge(storage: Path) -> dict[str, Any] | None:
    """Return what a running bridge announced, None when none runs on `storage`."""
    if not is_held(storage / "bridge.lock"):
        return None
    try:
        found: dict[str, Any] = json.loads((storage / "bridge.json").read_text())
    except (OSError, ValueError):
        return None
    return found


def _held(storage: Path) -> str:
    try:
        pid = f" (pid {json.loads((storage / 'bridge.json').read_text())['pid']})"
    except (OSError, ValueError, KeyError, TypeError):
        pid = ""
    return f"another bridge{pid} already runs on {storage}; end it, or give this one a storage of its own"
