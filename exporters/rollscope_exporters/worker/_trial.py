"""Deliver one record at a time after a crash, so that the one that takes the process down can be named.

A library can end its process (a segmentation fault, `abort`, `os._exit`) on a record it does not like. Only what the record
did itself counts here: a worker that was killed from outside, for being slow or by the system, is no such case.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rollscope.files import replace_file

from ._delivery import Delivery
from ._feed import Item
from ._folders import TRIAL_FILE

CRASHES = 3
"""Crashes on the same record after which it is set aside."""
LENGTH = 500
"""Records delivered singly after a crash."""


class _Tried(msgspec.Struct):
    id: int
    crashes: int
    part: int = 0


class Trial:
    """Remembers on disk which record is being tried."""

    def __init__(self, folder: Path, after_crash: bool) -> None:
        self._path = folder / TRIAL_FILE
        self._left = LENGTH if after_crash else 0
        self._tried = self._read() if after_crash else _Tried(0, 0)
        if not after_crash:
            self._path.unlink(missing_ok=True)

    @property
    def on(self) -> bool:
        """Whether records are delivered singly."""
        return self._left > 0

    def _read(self) -> _Tried:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Tried)
        except (OSError, msgspec.DecodeError):
            return _Tried(0, 0)

    def deliver(self, item: Item, delivery: Delivery) -> None:
        """Deliver one record, or set it aside when it has ended the process too often."""
        crashes = self._tried.crashes if (self._tried.id, self._tried.part) == (item.id, item.part) else 0
        if crashes >= CRASHES:
            delivery.set_aside(item, f"ended the worker's process {crashes} times")
        else:
            replace_file(self._path, msgspec.json.encode(_Tried(item.id, crashes + 1, item.part)))
            delivery.deliver([item])
        self._left -= 1
        if not self._left:
            self._path.unlink(missing_ok=True)
