"""What the parts of the recorder need of each other and of the outside; tests give others."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, Protocol

import msgspec

from .encoding import Row
from .sanitise import Sanitiser

if TYPE_CHECKING:
    from ..journal import Place
    from ..settings import Limits

__all__ = ["SYSTEM_CLOCK", "Clock", "Hold", "JournalLike", "Stoppable", "Writer"]


class Hold(Protocol):
    """Keeps what began."""

    def __call__(self, payload: bytes, check: int) -> Place | None:
        """Return what to tell the append of the end; None when it was refused. `check` is `checksum(payload)`. Never raises."""
        ...


class JournalLike(Protocol):
    """The writer's side of `rollscope.journal.Journal`."""

    def append(self, payload: bytes, lane: int = 1, over: Place | None = None, check: int | None = None) -> int:
        """Keep a record, the end of `over`; return its sequence number, -1 when it was refused. Never raises."""
        ...

    @property
    def hold(self) -> Hold:
        """Keep what began, until an append is told that it is over."""
        ...

    def count(self, kind: Literal["dropped", "truncated", "failed"], reason: str, n: int = 1) -> None:
        """Add to the counters that survive the process."""
        ...

    @property
    def last_sequence(self) -> int:
        """Highest number given out."""
        ...

    def stay_alive(self) -> None:
        """See to it that readers know that its writer lives."""
        ...

    def deleted(self) -> bool:
        """Return whether somebody removed what it writes to."""
        ...

    def succeed(self) -> bytes:
        """Close one that was deleted; return the counters with which the next one goes on."""
        ...

    def abandon(self) -> None:
        """Let go of the parent's log in a forked child."""
        ...

    def close(self) -> None:
        """End the log."""
        ...


class Writer(Protocol):
    """What a span needs of its recorder."""

    epoch: int
    limits: Limits
    known: set[str]
    look_above: int
    tick: Callable[[], int]
    append: Callable[..., int]
    hold: Hold

    def write(self, row: Row, lane: int, over: Place | None = None) -> int:
        """Append a row by way of the sanitiser where needed; never raises."""
        ...

    def named(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy whose names are fit for a record."""
        ...

    def sanitiser(self) -> Sanitiser:
        """Return a cleaner for the values of one record."""
        ...


class Stoppable(Protocol):
    """A thread of the recorder's."""

    def stop(self, wait: float = 0.0) -> None:
        """End it, after up to `wait` seconds for what it is about to do."""
        ...


class Clock(msgspec.Struct, frozen=True):
    """Two readings: `wall` for when something was, `tick` for how long it took. Both in ns."""

    wall: Callable[[], int] = time.time_ns
    tick: Callable[[], int] = time.perf_counter_ns


SYSTEM_CLOCK = Clock()
