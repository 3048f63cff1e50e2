"""Deliver one record at a time after a crash or a hang, so that the one that brings it about can be named.

A library can end its process (a segmentation fault, `abort`, `os._exit`) on a record it does not like, or never come back from it.
Only what the record did itself counts here: a worker that was killed from outside is no such case, and a worker that hangs may as
well wait for a server that does not answer. So where it hangs at one record again and again, the record behind it is tried first; only
when that one gets through and the process hangs once more, it is the record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rollscope.files import replace_file

from ._delivery import Delivery
from ._feed import Item
from ._folders import TRIAL_FILE

ENDS = 3
"""Processes that end at the same record, after which it is set aside."""
LENGTH = 500
"""Records delivered singly after a crash or a hang."""

After = Literal["crash", "hang"]


class _Tried(msgspec.Struct, frozen=True):
    """What is being tried, and what came of it so far."""

    id: int = 0
    part: int = 0
    ends: int = 0
    """Processes that ended at it."""
    hung: bool = False
    """Whether one of them hung."""
    next: Literal["", "tried", "passed"] = ""
    """What became of the record behind it, where that was tried first."""


class Trial:
    """Remembers on disk which record is being tried. `after`: how the process before this one ended, None where it was in order."""

    def __init__(self, folder: Path, after: After | None) -> None:
        self._path = folder / TRIAL_FILE
        self._left = LENGTH if after else 0
        self._tried = _learn(self._read(), after) if after else _Tried()
        if not after:
            self._path.unlink(missing_ok=True)

    @property
    def on(self) -> bool:
        """Whether records are delivered singly."""
        return self._left > 0

    @property
    def rows(self) -> int:
        """Rows to read at a time; more than one where the record behind is wanted."""
        return LENGTH if self._in_doubt else 1

    @property
    def _in_doubt(self) -> bool:
        return self._tried.ends >= ENDS and self._tried.hung and self._tried.next != "passed"

    def deliver(self, items: Sequence[Item], delivery: Delivery) -> None:
        """Deliver records one by one, or set one aside when it has ended the process too often."""
        if self._in_doubt and len(items) > 1 and self._is_tried(items[0]) and items[1].record is not None:
            self._deliver_second_first(items[0], items[1], delivery)
            items = items[2:]
        for item in items:
            self._deliver(item, delivery)

    def _deliver(self, item: Item, delivery: Delivery) -> None:
        known = self._tried if self._is_tried(item) else _Tried(item.id, item.part)
        if known.ends >= ENDS and (not known.hung or known.next == "passed"):
            delivery.set_aside(item, _reason(known))
        else:
            self._note(msgspec.structs.replace(known, ends=known.ends + 1))
            delivery.deliver([item])
        self._passed()

    def _deliver_second_first(self, first: Item, second: Item, delivery: Delivery) -> None:
        """See whether it is the record or the backend. The position stays where it is until the first one is through as well."""
        self._note(msgspec.structs.replace(self._tried, next="tried"))
        failure = delivery.write([second])
        self._note(msgspec.structs.replace(self._tried, ends=self._tried.ends + 1, next="passed"))
        delivery.deliver([first])
        self._passed()
        delivery.settle(second, failure)
        self._passed()

    def _is_tried(self, item: Item) -> bool:
        return (self._tried.id, self._tried.part) == (item.id, item.part)

    def _passed(self) -> None:
        self._left -= 1
        if not self._left:
            self._path.unlink(missing_ok=True)

    def _read(self) -> _Tried:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Tried)
        except (OSError, msgspec.DecodeError):
            return _Tried()

    def _note(self, tried: _Tried) -> None:
        self._tried = tried
        with contextlib.suppress(OSError):  # on a full disk the record is not named, and is tried more often
            replace_file(self._path, msgspec.json.encode(tried))


def _learn(tried: _Tried, after: After) -> _Tried:
    """Add how the process ended that tried this."""
    if tried.next == "tried":  # it is the record behind at which it ended
        # A process that crashed has not waited for a server, so the record is tried once more; where both hang, nothing is said against it.
        return msgspec.structs.replace(tried, ends=ENDS - 1, next="passed") if after == "crash" else _Tried()
    return msgspec.structs.replace(tried, hung=tried.hung or after == "hang")


def _reason(tried: _Tried) -> str:
    if not tried.hung:
        return f"ended the worker's process {tried.ends} times"
    return "the worker's process got stuck at it each time, and not at the record behind it"
