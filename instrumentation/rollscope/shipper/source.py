"""One producer's log as the shipper sees it: what to send of it, what of it is open, how far the peer has it."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from .. import vocabulary as v
from ..journal import LANES as _LANES
from ..journal import Counters, Entry, LogReader, Position
from ..records import Event, Record, SpanEnd, SpanStart, decode, decode_start
from ..redact import REDACTED, Redactor, Withheld, kept
from ..redact import record as redacted
from ..settings import Redaction
from .otlp import EncodeError, Encoder, Item, OpenSpan
from .otlp.tokens import Texts
from .redactors import Redactors
from .state import Remembered

LANES = tuple(range(_LANES))
_SEEN_LAG = 1_000_000_000
_FRESH = 1.0
"""Seconds for which what was read of a log's counters, and that its process lives, is not read again."""
_log = logging.getLogger(__name__)

AnyRecord = TypeVar("AnyRecord", bound=Record | SpanStart)


class Portion(NamedTuple):
    """What was read of one lane of one log, to be acknowledged when it is delivered."""

    source: Source
    lane: int
    end: Position
    records: int
    items: list[Item]
    lost: Counter[str]
    """Records left behind up to its end, by reason; they count when it is delivered."""
    replaced: Counter[str]
    """Values redacted in it, likewise."""


class Source:
    """Reads one log and turns its records into items."""

    def __init__(self, folder: Path, texts: Texts, remembered: Remembered | None, redactors: Redactors, *, derive: bool) -> None:
        self.folder = folder
        self.memory = remembered or Remembered()
        self.changed = False
        """Whether `memory` differs from what was stored."""
        self._texts = texts
        self._derive = derive
        self._redactors = redactors
        self._reader = LogReader(folder, patience=_FRESH)
        self._encoder: Encoder | None = None
        self._delivered: dict[int, tuple[Position, int]] = {}
        self._positions = {lane: self._reader.position(lane) for lane in LANES}
        self._known, self._known_until = Counters(0, {}, {}, {}), 0.0
        self._drained = dict.fromkeys(LANES, False)
        self._on_their_way = dict.fromkeys(LANES, 0)
        self._seen_stored = self.memory.last_seen
        self._aborted: list[Item] | None = None

    @property
    def producer(self) -> str:
        """Id of the producer: the name of its folder."""
        return self.folder.name

    @property
    def known(self) -> bool:
        """Whether the log says whose it is; a log that never held a record, or was removed halfway, does not."""
        if not self.memory.resource:
            meta = self._reader.meta()
            resource = meta.get("resource")
            if isinstance(resource, dict):
                self.memory.redact = msgspec.convert(meta.get("redact", {}), Redaction)
                self.memory.resource = resource
                self.changed = True
        return bool(self.memory.resource)

    @property
    def held(self) -> str:
        """Why nothing of this log may be sent now, empty where it may: what is to redact it cannot be had."""
        try:
            self._redactor()
        except ValueError as error:
            return str(error)
        return ""

    @property
    def resource(self) -> dict[str, object]:
        """OTLP resource attributes of the producer, as they may be sent."""
        resource = {v.PRODUCER_ID: self.producer, **(self.memory.resource if self.known else {})}
        redactor = self._redactor()
        if redactor is None:
            return resource
        try:
            return redactor.whole(lambda: redactor.attributes(resource))
        except Withheld as error:
            _log.error("resource of %s left out: %s", self.producer, error)
            return kept(resource)

    @property
    def encoder(self) -> Encoder:
        """The producer's encoder, made when its log can first be read."""
        if self._encoder is None:
            self._encoder = Encoder(self.resource, self._texts, derive=self._derive, redactor=self._redactor())
        return self._encoder

    def read(self, lane: int, max_bytes: int) -> Portion | None:
        """Return the next records of `lane` as items; None when there are none now."""
        damaged = Counter(self._reader.damaged)
        entries = self._reader.read(lane, max_bytes)
        damage = Counter(self._reader.damaged) - damaged
        self._drained[lane] = not entries
        if not entries and not damage:
            return None
        lost = Counter({f"damaged: {reason}": places for reason, places in damage.items()})
        redactor = self._redactor()
        before = redactor.replaced.copy() if redactor else Counter()
        items = [item for entry in entries for item in self._items(entry, lost)]
        replaced = redactor.replaced - before if redactor else before
        end = entries[-1].end if entries else self._reader.position(lane)
        self._on_their_way[lane] += 1
        return Portion(self, lane, end, len(entries), items, lost, replaced)

    def delivered(self, portion: Portion) -> None:
        """Note that the peer has a portion; `acknowledge` makes it last."""
        lane, before = portion.lane, self._delivered.get(portion.lane)
        self._on_their_way[lane] -= 1
        self._delivered[lane] = (portion.end, portion.records + (before[1] if before else 0))
        self._positions[lane] = portion.end
        for reason, records in portion.lost.items():
            self.memory.lost[reason] = self.memory.lost.get(reason, 0) + records
            self.changed = True
        self._replace(portion.replaced)

    def _replace(self, replaced: Counter[str]) -> None:
        for finder, values in replaced.items():
            reason = f"redacted: {finder}"
            self.memory.replaced[reason] = self.memory.replaced.get(reason, 0) + values
            self.changed = True

    def rewind(self, lane: int) -> None:
        """Read `lane` again from where the peer has everything: what could not be sent stays in the journal, not in memory."""
        self._on_their_way[lane] = 0
        self._reader.rewind(lane, self._positions[lane])

    def acknowledge(self) -> None:
        """Make lasting what was delivered. `memory` must have been stored before. Raises `OSError`."""
        if not self._delivered:
            return
        try:
            self._reader.acknowledge_lanes(self._delivered)
        except FileNotFoundError:
            if self.folder.is_dir():
                raise
            # Somebody removed the log: there is nothing to be kept from being read again.
        self._delivered.clear()

    @property
    def unacknowledged(self) -> bool:
        """Whether `acknowledge` has something to do."""
        return bool(self._delivered)

    @property
    def settled(self) -> bool:
        """Whether all that was read was delivered and acknowledged."""
        return not self._delivered and not any(self._on_their_way.values())

    def alive(self) -> bool:
        """Return whether the process lives; remembers when it was seen."""
        alive = self._reader.alive()
        if alive:
            self._saw(time.time_ns())
        return alive

    def rest(self) -> None:
        """Close files until the next read."""
        self._reader.close()

    def waiting(self) -> int:
        """Records that are not acknowledged yet."""
        return max(0, self._counters().last_sequence - self._reader.acknowledged())

    def heartbeat(self, *, final: bool = False) -> Item:
        """Return the producer's heartbeat now."""
        counters = self._counters(fresh=final)
        return self.encoder.heartbeat(
            time.time_ns(),
            counters.last_sequence,
            self._lost(counters.dropped),
            {**counters.truncated, **self.memory.replaced},
            counters.failed,
            [] if final else self.open_spans(),
            final=final,
            abnormal=final and self.abnormal,
            deleted=counters.deleted,
        )

    def telemetry(self, *, final: bool = False) -> list[Item]:
        """Return the heartbeat's numbers as metrics, where anybody wants them."""
        if not self._derive:
            return []
        counters = self._counters(fresh=final)
        spans = [] if final else self.open_spans()
        lost, waiting = self._lost(counters.dropped), self._pending_bytes()
        return [self.encoder.telemetry(time.time_ns(), counters.last_sequence, lost, spans, waiting, final=final)]

    def loss_counts(self) -> object:
        """Return what a heartbeat tells at once when it changes."""
        counters = self._counters()
        return counters.dropped, counters.truncated, counters.failed, counters.deleted, dict(self.memory.lost)

    @property
    def abnormal(self) -> bool:
        """Whether the process ended without finishing: a run that it began, or spans."""
        return (self.memory.began and not self.memory.finished) or bool(self._open_starts())

    def open_spans(self) -> list[OpenSpan]:
        """Return spans that began and did not end."""
        return [OpenSpan(self._name_of(start), start.trace_id, start.span_id, start.start) for start in self._open_starts()]

    def aborted(self) -> list[Item]:
        """Return spans that the dead process left open, closed at the time it was seen last."""
        if self._aborted is None:
            redactor = self._redactor()
            before = redactor.replaced.copy() if redactor else Counter()
            self._aborted = self._close_open()
            self._replace(redactor.replaced - before if redactor else before)
        return self._aborted

    def _close_open(self) -> list[Item]:
        items = []
        for start in self._open_starts():
            try:
                items.append(self.encoder.aborted(self._clean(start), self.memory.last_seen))
            except (Withheld, EncodeError) as error:
                _log.error("an open span of %s is not told of: %s", self.producer, error)
        return items

    def _pending_bytes(self) -> int:
        return 0 if self.settled and all(self._drained.values()) else self._reader.pending_bytes()

    def _counters(self, *, fresh: bool = False) -> Counters:
        """Return the writer's counts, as they were lately; of a log that was deleted the last ones known, and that it was."""
        now = time.monotonic()
        if now < self._known_until and not fresh:
            return self._known
        self._known_until = now + _FRESH
        found = self._reader.counters()
        if found.last_sequence < self._known.last_sequence:
            self._known = self._known._replace(deleted=self._known.last_sequence)
            return self._known
        self._known = found
        return found

    def _lost(self, dropped: Mapping[str, int]) -> Counter[str]:
        lost = Counter(dropped)
        lost.update(self.memory.lost)
        if unreadable := self._reader.damaged.get("beginning"):
            lost["damaged: beginning"] = unreadable
        return lost

    def _items(self, entry: Entry, lost: Counter[str]) -> list[Item]:
        try:
            record = decode(entry.payload)
            self._track(record)
            return self.encoder.encode(self._clean(record), entry.sequence)
        except Withheld as error:
            # Its message holds nothing of the record, and no stack trace is logged: that would.
            _log.error("record %d of %s withheld: %s", entry.sequence, self.producer, error)
            lost[f"evicted {error}"] += 1
            return []
        except (msgspec.MsgspecError, EncodeError) as error:
            _log.error("record %d of %s left behind: %s", entry.sequence, self.producer, error)
            lost["evicted unreadable"] += 1
            return []

    def _track(self, record: Record) -> None:
        memory = self.memory
        if isinstance(record, SpanEnd):
            self._saw(record.end)
        elif isinstance(record, Event):
            self._saw(record.time)
            if record.name == v.EVENT_RUN_STARTED:
                memory.began = self.changed = True
            elif record.name == v.EVENT_RUN_FINISHED:
                memory.finished = self.changed = True

    def _saw(self, time: int) -> None:
        """Note when the process was seen; what is stored of it lags a second behind at most."""
        memory = self.memory
        memory.last_seen = max(memory.last_seen, time)
        if memory.last_seen - self._seen_stored >= _SEEN_LAG:
            self._seen_stored, self.changed = memory.last_seen, True

    def _redactor(self) -> Redactor | None:
        """Raises `ValueError` while what is to redact this log cannot be had."""
        return self._redactors.of(self.memory.redact if self.known else Redaction())

    def _clean(self, record: AnyRecord) -> AnyRecord:
        redactor = self._redactor()
        return record if redactor is None else redacted(redactor, record)

    def _name_of(self, start: SpanStart) -> str:
        redactor = self._redactor()
        try:
            return start.name if redactor is None else redactor.whole(lambda: redactor.name(start.name))
        except Withheld:
            return REDACTED

    def _open_starts(self) -> list[SpanStart]:
        """Return how the spans began that are open, oldest first."""
        starts = []
        for head in self._reader.held():
            try:
                starts.append(decode_start(head))
            except msgspec.MsgspecError as error:
                _log.error("an open span of %s cannot be read: %s", self.producer, error)
        return sorted(starts, key=lambda start: start.start)
