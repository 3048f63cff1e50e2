"""The way of a record into the journal of its process, and the life of that journal: opened late, closed, left behind by a fork."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from .. import vocabulary as v
from ..interruption import pass_on
from . import gate
from .encoding import REFUSED, Encoder, Row, encode
from .protocols import Clock, Hold, JournalLike, Stoppable
from .sanitise import Sanitiser

if TYPE_CHECKING:
    from ..identity import Identity
    from ..ids import Ids
    from ..journal import Place
    from ..settings import Settings

__all__ = ["JournalWriter", "OpenJournal"]

_MOST_NAMES = 10_000
_OPEN_PAUSE = 10_000_000_000
"""ns between two attempts to open a journal that could not be opened."""
OpenJournal = Callable[..., JournalLike]
"""(identity) → its journal; (identity, counters of a former one) → the journal that follows one whose folder was deleted."""


class JournalWriter:
    """Appends rows to the journal of one producer. Thread-safe; usable again in a forked child.

    The journal is opened by the first record, so that a forked or joined process that records nothing leaves nothing behind.
    """

    def __init__(self, identity: Identity, settings: Settings, ids: Ids, open_journal: OpenJournal, clock: Clock) -> None:
        self.identity = identity
        self.settings = settings
        self.limits = settings.limits
        self.ids = ids
        self.now = clock.wall
        self.tick = clock.tick
        self.epoch = 0
        """Raised in a forked child: spans of the parent are not the child's to end."""
        self.driver = False
        """Whether this process began the run and will end it."""
        self.tokenizer: str | None = None
        """Digest of the tokenizer registered for the run, or its name."""
        self.keeper: Stoppable | None = None
        self.on_open: list[Callable[[], None]] = []
        """Called once the journal is open, in this process and again in a forked child."""
        self.on_close: list[Callable[[], None]] = []
        """Called before the journal closes."""
        self.known: set[str] = set()
        """Names of spans and attributes that were found good."""
        self.encoder = Encoder(settings.limits)
        self.look_above = self.encoder.look_above
        self.name_length = settings.limits.name_length
        self.journal: JournalLike | None = None
        self.append: Callable[..., int] = self._append_first
        self.hold: Hold = self._hold_first
        self._open_journal = open_journal
        self._open_again = -(1 << 62)
        self._former = b""
        """Counters of a journal whose folder was deleted, until the next one is open."""
        # Reentrant: a signal handler may record while the first record opens the journal.
        self._lock = threading.RLock()

    def write(self, row: Row, lane: int, over: Place | None = None) -> int:
        """Append one row; return its sequence number, -1 when it was refused. Never raises.

        over: what `hold` returned for what this row ends.
        """
        try:
            return self.append(self.encoded(row), lane, over)
        except Exception as error:  # noqa: BLE001  # the gate of all writing
            gate.swallow(error, "record", "dropped")
            return -1

    def encoded(self, row: Row) -> bytes:
        """Encode one row, cleaned and shortened where it has to be."""
        try:
            payload = encode(row)
        except REFUSED as error:
            pass_on(error)
            payload = self.encoder.refused(row)
        return self.encoder.large(row, payload) if len(payload) > self.look_above else payload

    def named(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy whose names are strings of bounded length. The encoder looks after values; names it would let pass."""
        values = dict(attributes)
        return values if self.known.issuperset(values) else self._learn(values)

    def _learn(self, values: dict[Any, Any]) -> dict[str, Any]:
        """Look at each name once: programs use the same few over and over."""
        if all(map(self._is_name, values)):
            self._remember(values)
            return values
        clean = self.sanitiser()
        values = {clean.name(name): value for name, value in values.items()}
        values[v.ATTRIBUTES_DROPPED] = True
        return values

    def _learn_name(self, name: object) -> str:
        if not self._is_name(name):
            return self.sanitiser().name(name)
        self._remember((name,))
        return name

    def _is_name(self, name: object) -> TypeGuard[str]:
        return type(name) is str and len(name) <= self.name_length

    def _remember(self, names: Iterable[str]) -> None:
        if len(self.known) > _MOST_NAMES:
            self.known.clear()
        self.known.update(names)

    def sanitiser(self) -> Sanitiser:
        """Return a cleaner for the values of one record."""
        return Sanitiser(self.limits)

    def open(self) -> JournalLike:
        """Open the journal now. Raises what the journal raises."""
        with self._lock:
            if self.journal is None:
                self.journal = self._open_journal(self.identity, self._former) if self._former else self._open_journal(self.identity)
                self._former = b""
                self.append, self.hold = self.journal.append, self.journal.hold
                gate.use_counter(self.journal.count)
                opened = list(self.on_open)
            else:
                opened = []
        for call in opened:
            call()
        return self.journal

    def look_after_journal(self) -> None:
        """Go on in a new journal if somebody removed this one's folder; what had not been sent of it is lost, and the new one says so.

        Raises what the journal raises; the next record tries again then.
        """
        journal = self.journal
        if journal is None:
            return
        journal.stay_alive()
        if not journal.deleted():
            return
        with self._lock:
            if self.journal is not journal:
                return
            # Whoever records now waits for the lock: its record belongs into the next journal.
            self.append, self.hold, self.journal = self._append_first, self._hold_first, None
            gate.use_counter(None)
            self._former = journal.succeed()
            lost = journal.last_sequence
            self.open()
        gate.notice(
            "journal_deleted",
            f"the journal in {self.settings.directory} was removed while the run records: what of its {lost} records had not been sent is "
            "lost, and the ledger names it; a new one goes on",
        )

    def _append_first(self, payload: bytes, lane: int = 1, over: Place | None = None, check: int | None = None) -> int:
        journal = self._open_first()
        return -1 if journal is None else journal.append(payload, lane, over, check)

    def _hold_first(self, payload: bytes, check: int) -> Place | None:
        journal = self._open_first()
        return None if journal is None else journal.hold(payload, check)

    def _open_first(self) -> JournalLike | None:
        """Open the journal for the first record; where that fails, try again later, not with every record."""
        if self.tick() < self._open_again:
            gate.report("dropped", "journal", "the journal could not be opened")
            return None
        try:
            return self.open()
        except Exception as error:  # noqa: BLE001  # a worker whose disk is full or folder gone must go on
            self._open_again = self.tick() + _OPEN_PAUSE
            gate.swallow(error, "journal", "dropped")
            return None

    def close(self) -> None:
        """Close the journal; whatever is recorded later is refused and counted in this process only."""
        self.settle()
        with self._lock:
            journal, self.journal = self.journal, None
            self.append, self.hold = _refuse, _hold_nothing
        if journal is not None:
            gate.use_counter(None)
            journal.close()

    def settle(self) -> None:
        """Write what is still held back elsewhere: metrics that a reader has not collected yet."""
        calls, self.on_close = self.on_close, []
        for call in calls:
            with gate.guard("settle", "dropped"):
                call()

    def after_fork(self) -> None:
        """Become another producer in a forked child: new ids, a log of its own, no part in the run's end."""
        journal, self.journal = self.journal, None
        self._lock = threading.RLock()
        self.keeper = None
        if journal is not None:
            gate.use_counter(None)
            journal.abandon()
        if self.append is not _refuse:
            self.append, self.hold = self._append_first, self._hold_first
        self.epoch += 1
        self.driver = False
        self.ids.reseed()
        self.identity = self.identity.forked(self.ids.producer_id())


def _refuse(payload: bytes, lane: int = 1, over: Place | None = None, check: int | None = None) -> int:
    # Another run may have begun, whose loss it is not; the log of this one is closed.
    gate.notice("closed", "something was recorded after its run had finished, and is in none")
    return -1


def _hold_nothing(payload: bytes, check: int) -> Place | None:
    return None  # its end will be refused, and counted
