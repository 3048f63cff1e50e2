"""What a worker reads: outbox rows after a position, decoded, without those its runs or the configuration leave out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol

import msgspec

from ..records import Record, decode
from ..store import OutboxRow
from ._shape import Shape

Keep = Callable[[str], bool]
"""Run → whether it wants this backend, or whether it may yet come to."""
EARLY = "came before the run said that it wants this backend"


class Item(msgspec.Struct, frozen=True):
    """One record to deliver."""

    id: int
    run: str
    signal: str
    record: Record | None
    error: str = ""
    """Why there is no record: the row cannot be decoded."""
    part: int = 0
    """Place among the records that its row became."""
    last: bool = True
    """Whether its row is done with it."""

    @property
    def reached(self) -> tuple[int, int]:
        """Id and parts beyond it that are delivered when this one is."""
        return (self.id, 0) if self.last else (self.id - 1, self.part + 1)

    @property
    def what(self) -> str:
        """Name the record for people."""
        name = next((value for field in ("id", "name", "trace_id") if (value := getattr(self.record, field, ""))), "")
        step = getattr(self.record, "step", None)
        return " ".join(part for part in (self.signal, str(name), f"step {step}" if step is not None else "") if part)


class Passing(msgspec.Struct, frozen=True):
    """What happens when the position passes a row."""

    id: int
    run: str
    reason: str = ""
    """Why it is not handed on as it is: then it counts as left out under it."""
    record: Record | None = None
    """Which record has to be remembered."""


class Batch(msgspec.Struct, frozen=True):
    """Items in order, and the id up to which nothing else is to be delivered."""

    items: list[Item]
    upto: int
    passing: list[Passing]


class Outbox(Protocol):
    """The part of the store a worker reads."""

    def head(self) -> int:
        """Return the highest id there is."""

    def rows(
        self, after: int, *, signals: Collection[str], run: str | None = None, limit: int = 500, max_bytes: int = 8 << 20
    ) -> Sequence[OutboxRow]:
        """Return rows above `after`, oldest first."""


class Feed:
    """Reads one worker's share of the outbox."""

    def __init__(
        self, outbox: Outbox, signals: frozenset[str], run: str | None, keep: Keep, shape: Shape, undecided: Keep = lambda run: False
    ) -> None:
        self._outbox, self._signals, self._run = outbox, signals, run
        self._keep, self._shape, self._undecided = keep, shape, undecided

    def next(self, after: int, limit: int, max_bytes: int, parts: int = 0) -> Batch:
        """Return what comes after `after` and the first `parts` records of the row behind it; `upto == after` when there is nothing new."""
        head = self._outbox.head()
        if head <= after:
            return Batch([], after, [])
        rows = self._outbox.rows(after, signals=self._signals, run=self._run, limit=limit, max_bytes=max_bytes)
        passing: list[Passing] = []
        items = [item for item in self._items(rows, passing) if item.id > after + 1 or item.part >= parts]
        return Batch(items, rows[-1].id if rows else head, passing)

    def _items(self, rows: Iterable[OutboxRow], passing: list[Passing]) -> Iterable[Item]:
        for row in rows:
            if not self._keep(row.run):
                passing += [Passing(row.id, row.run, EARLY)] if self._undecided(row.run) else []
                continue
            try:
                record = decode(row.payload)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                yield Item(row.id, row.run, row.signal, None, f"cannot be decoded: {error}")
                continue
            shaped = self._shape(record, len(row.payload))
            if shaped.reason or shaped.remembered:
                passing.append(Passing(row.id, row.run, shaped.reason, record if shaped.remembered else None))
            last = len(shaped.records) - 1
            for part, one in enumerate(shaped.records):
                yield Item(row.id, row.run, one.signal, one, part=part, last=part == last)
