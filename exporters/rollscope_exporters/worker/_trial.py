"""Deliver one record at a time after a crash or a hang, so that the one that brings it about can be named.

A library can end its process (a segmentation fault, `abort`, `os._exit`) on a record it does not like, or never come back from it.
Only what the record did itself counts here: a worker that was killed from outside is no such case, and a worker that hangs may as
well wait for a server that does not answer. So where it hangs at one record again and again, a record behind it is tried first, another
one in each process; only when one gets through and the process hangs at the first once more, it is that record. Until then nothing of
what was tried counts as delivered, so that a kill finds the position, and the backend's own state, as they were before.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rollscope.files import replace_file

from ..child import After
from ._delivery import Delivery
from ._feed import Item
from ._folders import TRIAL_FILE

ENDS = 3
"""Processes that must end at one record before it is suspected."""
BEHIND = 5
"""Records behind it that are tried before the backend is taken to be out of reach, and the count begins anew."""
LENGTH = 500
"""Records delivered singly after a crash or a hang."""
_FAR = 128 << 20
"""Bytes that may be read to find a record behind: the largest two fit."""


class _Tried(msgspec.Struct, frozen=True):
    """What is being tried, and what came of it so far."""

    id: int = 0
    part: int = 0
    ends: int = 0
    """Processes that ended at it."""
    hung: bool = False
    """Whether one of them hung."""
    behind: int = 0
    """Which of the records behind it was tried last, from 1; 0 while none was."""
    passed: bool = False
    """Whether that one got through."""


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

    def limits(self, rows: int, size: int) -> tuple[int, int]:
        """Return rows and bytes to read at once, which are `rows` and `size` while no record is tried."""
        if not self.on:
            return rows, size
        return (LENGTH, _FAR) if self._in_doubt else (1, size)

    @property
    def _in_doubt(self) -> bool:
        return self._tried.ends >= ENDS and self._tried.hung and not self._tried.passed

    def deliver(self, items: Sequence[Item], delivery: Delivery) -> None:
        """Deliver records one by one, or set one aside when it has ended the process too often."""
        if self._in_doubt and self._is_tried(items[0]):
            whole = [place for place, item in enumerate(items) if place and item.record is not None]
            if len(whole) > self._tried.behind:
                upto = whole[self._tried.behind]
                self._deliver_last_first(items[: upto + 1], delivery)
                items = items[upto + 1 :]
        for item in items:
            self._deliver(item, delivery)

    def _deliver(self, item: Item, delivery: Delivery) -> None:
        known = self._tried if self._is_tried(item) else _Tried(item.id, item.part)
        if known.ends >= ENDS and (known.passed or not known.hung):
            delivery.settle([(item, _reason(known))])
        else:
            self._note(replace(known, ends=known.ends + 1, behind=0))
            delivery.doubt = f"the process ended or got stuck at {item.what} {known.ends} times" if known.ends else ""
            delivery.deliver([item])
            delivery.doubt = ""
        self._count_down(1)

    def _deliver_last_first(self, items: Sequence[Item], delivery: Delivery) -> None:
        """See whether it is the first record or the backend; where all get through, it was the backend."""
        first, last = items[0], items[-1]
        self._note(replace(self._tried, behind=self._tried.behind + 1))
        delivery.doubt = f"the process ended or got stuck at {first.what} {self._tried.ends} times; trying {last.what} first"
        last_failure = delivery.write([last])
        self._note(replace(self._tried, passed=True))
        failures = [_write(first, delivery)]
        self._note(_Tried())  # what is in between may hang by itself
        failures += [_write(item, delivery) for item in items[1:-1]]
        delivery.doubt = ""
        delivery.settle(list(zip(items, [*failures, last_failure], strict=True)))
        self._count_down(len(items))

    def _is_tried(self, item: Item) -> bool:
        return (self._tried.id, self._tried.part) == (item.id, item.part)

    def _count_down(self, delivered: int) -> None:
        self._left -= delivered
        if not self.on:
            self._path.unlink(missing_ok=True)

    def _read(self) -> _Tried:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=_Tried)
        except (OSError, msgspec.DecodeError):
            return _Tried()

    def _note(self, tried: _Tried) -> None:
        self._tried = tried
        if self.on:
            with contextlib.suppress(OSError):  # on a full disk the record is not named, and is tried more often
                replace_file(self._path, msgspec.json.encode(tried))


def _learn(tried: _Tried, after: After) -> _Tried:
    """Add how the process ended that tried this."""
    if not tried.behind or tried.passed:
        return replace(tried, hung=tried.hung or after == "hang")
    # It ended at the record behind. One that crashed there has not waited for a server: the first one is tried once more.
    if after == "crash":
        return replace(tried, ends=ENDS - 1, passed=True)
    return tried if tried.behind < BEHIND else _Tried()


def _write(item: Item, delivery: Delivery) -> str | None:
    return item.error if item.record is None else delivery.write([item])


def _reason(tried: _Tried) -> str:
    if not tried.hung:
        return f"ended the worker's process {tried.ends} times"
    return "the worker's process got stuck at it again and again, also after a record behind it had shown that the backend answers"
