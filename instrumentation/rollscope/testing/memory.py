"""A recorder over a journal in memory, in place of the process's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from ..identity import Identity, Run
from ..ids import Ids
from ..launchers import Place
from ..recorder import Recorder, gate, session
from ..records import Event, Record, SpanEnd, SpanStart, Tokens
from ..settings import load_settings
from .clock import ManualClock
from .ids import CountingIds
from .journal import MemoryJournal

__all__ = ["Memory", "memory_recorder"]

R = TypeVar("R", bound=Record | SpanStart)


@dataclass(frozen=True, slots=True)
class Memory:
    """What was recorded so far, decoded."""

    recorder: Recorder
    journal: MemoryJournal
    clock: ManualClock

    @property
    def records(self) -> list[Record | SpanStart]:
        """All records in the order they were written."""
        return self.journal.records()

    @property
    def spans(self) -> list[SpanEnd]:
        """Ended spans, in the order they ended."""
        return self._of(SpanEnd)

    @property
    def started(self) -> list[SpanStart]:
        """Started spans, in the order they started."""
        return self._of(SpanStart)

    @property
    def events(self) -> list[Event]:
        """Events and log lines."""
        return self._of(Event)

    @property
    def tokens(self) -> list[Tokens]:
        """Token segments."""
        return self._of(Tokens)

    def span(self, name: str) -> SpanEnd:
        """Return the one ended span of that name."""
        return _one(name, [span for span in self.spans if span.name == name])

    def event(self, name: str) -> Event:
        """Return the one event of that name."""
        return _one(name, [event for event in self.events if event.name == name])

    def _of(self, kind: type[R]) -> list[R]:
        return [record for record in self.records if isinstance(record, kind)]


@contextmanager
def memory_recorder(
    *,
    run: Run | None = None,
    place: Place | None = None,
    ids: Ids | None = None,
    clock: ManualClock | None = None,
    strict: bool = True,
    environment: Mapping[str, str] | None = None,
) -> Iterator[Memory]:
    """Record into memory inside `with`; the process's own recorder, if any, comes back afterwards.

    environment: variables that settings are read from, instead of the process's. strict: raise errors of the recorder.
    """
    journal, ids, clock = MemoryJournal(), ids or CountingIds(), clock or ManualClock()
    identity = Identity(run or Run("run", "experiment", "project"), place or Place(), ids.producer_id(), host="host", pid=1)
    recorder = Recorder(identity, load_settings(environment or {}), ids, lambda _: journal, clock=clock.as_clock())
    before = session.snapshot()
    was_strict = gate.set_strict(strict)
    recorder.open()
    session.use(recorder)
    try:
        yield Memory(recorder, journal, clock)
    finally:
        recorder.close()
        gate.set_strict(was_strict)
        session.restore(before)


def _one(name: str, found: list[R]) -> R:
    if len(found) != 1:
        raise AssertionError(f"expected one record named {name!r}, found {len(found)}")
    return found[0]
