"""Deliver one record at a time after a crash or a hang, so that the one that brings it about can be named.

A library can end its process (a segmentation fault, `abort`, `os._exit`) on a record it does not like, or never come back from it.
Only what the record did itself counts here: a worker that was killed from outside is no such case, and a worker that hangs may as
well wait for a server that does not answer. So where it hangs at one record again and again, another of the same signal behind it is
tried first, in each process a further one; only when one is accepted and the process hangs at the first once more, it is that record.
Until then nothing of what was tried counts as delivered, so that a kill finds the position, and the backend's own state, as they were.
A run's start and end are never set aside for a hang: without them the rest is worth nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec
from msgspec.structs import replace

from rollscope.files import replace_file

from ..child import After
from ._delivery import Delivery
from ._feed import Item
from ._folders import TRIAL_FILE

ENDS = 3
"""Processes that must end at one record before it is suspected."""
BEHIND = 10
"""Records behind it that are tried, a process each, before the backend is taken to be out of reach and the count begins anew."""
LENGTH = 500
"""Records delivered singly after a crash or a hang."""
_FAR = 128 << 20
"""Bytes that may be read at once to find a record behind: the largest two fit."""
_KEPT = "runs"
"""Signal of what is never set aside for a hang."""


class _Tried(msgspec.Struct, frozen=True):
    """What is being tried, and what came of it so far."""

    id: int = 0
    part: int = 0
    ends: int = 0
    """Processes that ended at it."""
    hung: bool = False
    """Whether one of them hung."""
    behind: int = 0
    """How many of the records behind it were tried, and did not get through."""
    passed: bool = False
    """Whether one did."""
    at: Literal["", "first", "behind"] = ""
    """What a process is at now: if it ends, that was it."""


class Trial:
    """Remembers on disk which record is being tried. `after`: how the process before this one ended, None where it was in order."""

    def __init__(self, folder: Path, after: After | None) -> None:
        self._path = folder / TRIAL_FILE
        self._left = LENGTH if after else 0
        self._tried = _Tried()
        if after:
            # On disk at once: a process that fails to start has tried nothing, and takes nothing of this away.
            self._note(_learn(self._read(), after))
        else:
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

    def wants_more(self, items: Sequence[Item]) -> bool:
        """Return whether further rows are to be read, as there is none among `items` that could be tried before the first."""
        return bool(items) and self._doubts(items[0]) and next(self._behind(items), None) is None

    @property
    def _in_doubt(self) -> bool:
        return self._tried.ends >= ENDS and self._tried.hung and not self._tried.passed

    def _doubts(self, item: Item) -> bool:
        return self._in_doubt and self._is_tried(item) and item.signal != _KEPT

    def _behind(self, items: Sequence[Item]) -> Iterator[int]:
        """Yield places of the records behind the first one that are still to be tried before it."""
        same = [place for place, item in enumerate(items) if place and item.record is not None and item.signal == items[0].signal]
        yield from same[self._tried.behind :]

    def deliver(self, items: Sequence[Item], delivery: Delivery) -> None:
        """Deliver records one by one, or set one aside when it has ended the process too often."""
        if self._doubts(items[0]) and (place := self._first_through(items, delivery)):
            self._deliver_before(items[: place + 1], delivery)
            items = items[place + 1 :]
        for item in items:
            self._deliver(item, delivery)

    def _deliver(self, item: Item, delivery: Delivery) -> None:
        known = self._tried if self._is_tried(item) else _Tried(item.id, item.part)
        if known.ends >= ENDS and (known.passed or not known.hung):
            delivery.settle([(item, _reason(known))])
        else:
            self._note(replace(known, behind=0, at="first"))
            delivery.doubt = f"the process ended or got stuck at {item.what} {known.ends} times" if known.ends else ""
            delivery.deliver([item])
            delivery.doubt = ""
        self._count_down(1)

    def _first_through(self, items: Sequence[Item], delivery: Delivery) -> int:
        """Try records behind the first one until the backend accepts one; return its place, 0 for none."""
        for place in self._behind(items):
            self._note(replace(self._tried, behind=self._tried.behind + 1, at="behind"))
            what = f"{items[0].what} {self._tried.ends} times; trying {items[place].what} first"
            delivery.doubt = f"the process ended or got stuck at {what}"
            if delivery.write([items[place]]) is None:
                return place
            # What is refused out of its turn says nothing: neither of itself nor of the backend.
            if self._tried.behind >= BEHIND:
                break
        return 0

    def _deliver_before(self, items: Sequence[Item], delivery: Delivery) -> None:
        """The last one got through: try what is before it. Where all get through, it was the backend."""
        self._note(replace(self._tried, passed=True, at="first"))
        outcomes = [(items[0], delivery.write(items[:1]))]
        self._note(_Tried())  # what is in between may hang by itself
        outcomes += [(item, item.error if item.record is None else delivery.write([item])) for item in items[1:-1]]
        delivery.doubt = ""
        delivery.settle([*outcomes, (items[-1], None)])
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
    if tried.at == "first":
        return replace(tried, ends=tried.ends + 1, hung=tried.hung or after == "hang", at="")
    if tried.at == "behind":
        return replace(tried, at="") if tried.behind < BEHIND else _Tried()
    return tried


def _reason(tried: _Tried) -> str:
    if not tried.hung:
        return f"ended the worker's process {tried.ends} times"
    return "the worker's process got stuck at it again and again, also after a record behind it had got through"
