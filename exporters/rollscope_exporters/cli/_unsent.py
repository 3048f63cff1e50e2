"""Journals that hold something while no shipper sends it."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import msgspec

from rollscope.journal import LogReader, list_logs
from rollscope.locks import is_held
from rollscope.shipper import LOCK


class Unsent(msgspec.Struct, frozen=True):
    """One node folder."""

    folder: str
    logs: int
    """Logs with something to send."""
    bytes: int

    def __str__(self) -> str:
        logs = "1 journal" if self.logs == 1 else f"{self.logs} journals"
        return f"nobody sends {logs} in {self.folder} ({self.bytes} bytes): rollscope ship {self.folder} --once"


def find_unsent(storage: Path, env: Mapping[str, str]) -> list[Unsent]:
    """Look into the node folders this process knows of: the storage's own, and `$ROLLSCOPE_DIR`."""
    folders = dict.fromkeys(path.absolute() for path in (storage / "journal", Path(env.get("ROLLSCOPE_DIR") or storage / "journal")))
    found = (_look(folder) for folder in folders)
    return [unsent for unsent in found if unsent.logs]


def _look(folder: Path) -> Unsent:
    if is_held(folder / LOCK):
        return Unsent(str(folder), 0, 0)
    waiting = [size for log in list_logs(folder / "producers") if (size := _pending(log))]
    return Unsent(str(folder), len(waiting), sum(waiting))


def _pending(log: Path) -> int:
    with closing(LogReader(log)) as reader:
        return reader.pending_bytes()
