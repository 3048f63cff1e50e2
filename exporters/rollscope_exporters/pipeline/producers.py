"""Producers: which of their records came, and what they say about themselves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

import msgspec

from rollscope import vocabulary as v

from ..decode import integer
from ..ledger.sequences import SequenceSet
from ..ledger.states import ProducerState

T = TypeVar("T")

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(ProducerState).decode

_SHOWN = 5
"""Open spans kept of a heartbeat, the oldest ones."""
_LAGS = 24
"""Heartbeats that tell about the clock, the latest ones: two minutes, so that a clock that was set is believed soon."""


class Producer:
    """One producer in memory."""

    __slots__ = ("changed", "id", "seen", "state")

    def __init__(self, id: str, state: ProducerState, seen: SequenceSet) -> None:
        self.id = id
        self.state = state
        self.seen = seen
        self.changed = True

    def take(self, number: int) -> bool:
        """Note that record `number` came; False when it had come before."""
        self.changed = True
        if self.seen.add(number):
            return True
        self.state.duplicates += 1
        return False

    def new(self, records: Sequence[tuple[int, T]]) -> Sequence[tuple[int, T]]:
        """`take` the number of each; return those that had not come before. One without number (0) always is new."""
        self.changed = True
        add = self.seen.add
        found = [record for record in records if not record[0] or add(record[0])]
        self.state.duplicates += len(records) - len(found)
        return found

    def set_aside(self, reason: str) -> None:
        """Count a record that came but cannot be used."""
        self.changed = True
        self.state.set_aside[reason] = self.state.set_aside.get(reason, 0) + 1

    def heartbeat(self, time: int, attributes: Mapping[str, object], now: int) -> None:
        """Take what the shipper says of it at `time` by its host's clock. `now`: when it arrived, Unix ns.

        What only grows is taken whatever the order; what may change is taken of the latest heartbeat. That is not only a matter of time:
        a host's clock may have been set back, and then the one that knows of more records, or of the end, is the later one.
        """
        self.changed = True
        state = self.state
        last, final = _count(attributes.get(v.LAST_SEQUENCE)), bool(attributes.get(v.FINAL, False))
        latest = final or (not state.final and (time >= state.heartbeat or last > state.last_sequence))
        state.last_sequence = max(state.last_sequence, last)
        state.dropped = _most(state.dropped, _counts(attributes.get(v.DROPPED)))
        state.truncated = _most(state.truncated, _counts(attributes.get(v.TRUNCATED)))
        state.failed_calls = _most(state.failed_calls, _counts(attributes.get(v.FAILED_CALLS)))
        deleted = _count(attributes.get(v.DELETED_UPTO))
        if deleted > state.deleted_upto:
            state.deleted_upto, state.deleted_since = deleted, now
        if not latest:
            return
        state.heartbeat = time
        state.lags = [*state.lags, now - time][-_LAGS:]
        state.final = final
        state.abnormal = bool(attributes.get(v.ABNORMAL, False))
        state.open_spans = _open_spans(attributes.get(v.OPEN_SPANS))
        state.open_span_count = max(_count(attributes.get(v.OPEN_COUNT)), len(state.open_spans))

    @property
    def gapless(self) -> bool:
        """Whether every record up to the highest that came is here."""
        return self.seen.count == self.seen.highest

    @property
    def settled(self) -> bool:
        """Whether it has ended and everything it wrote is here, or known to be lost."""
        return self.state.final and self.seen.count + self.state.lost >= max(self.state.last_sequence, self.seen.highest)


class Producers:
    """All producers of the store; they are read when first needed."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, Producer] = {}
        self._of_run: dict[str, list[str]] = {}
        for producer, run in db.execute("SELECT producer, run FROM producers ORDER BY producer"):
            self._of_run.setdefault(run, []).append(producer)

    def get(self, id: str, run: str, resource: Mapping[str, object]) -> Producer:
        """The producer `id`, made from its `resource` when it was never heard of."""
        if found := self._known.get(id):
            return found
        row = self._db.execute("SELECT state FROM producers WHERE producer = ?", (id,)).fetchone()
        if row is None:
            found = Producer(id, _new_state(run, resource), SequenceSet())
            self._of_run.setdefault(run, []).append(id)
        else:
            state = _decode(row[0])
            numbers = SequenceSet.load(self._db, id, first=state.first_page, count=state.received, highest=state.highest)
            found = Producer(id, state, numbers)
            found.changed = False
        self._known[id] = found
        return found

    def of_run(self, run: str) -> Iterable[Producer]:
        """All producers of `run`."""
        return [self.get(id, run, {}) for id in self._of_run.get(run, ())]

    def save(self, db: sqlite3.Connection) -> None:
        """Write what changed since the last time."""
        rows = []
        for producer in self._known.values():
            if producer.changed:
                state, seen = producer.state, producer.seen
                state.received, state.highest, state.first_page = seen.count, seen.highest, seen.first
                seen.save(db, producer.id)
                rows.append((producer.id, state.run, _encode(state)))
                producer.changed = False
        db.executemany("INSERT OR REPLACE INTO producers (producer, run, state) VALUES (?, ?, ?)", rows)

    def forget(self, before: int) -> None:
        """Let go of those not heard of since `before`; they are read again when needed."""
        for id in [id for id, known in self._known.items() if known.state.heard < before and not known.changed]:
            del self._known[id]


def _new_state(run: str, resource: Mapping[str, object]) -> ProducerState:
    return ProducerState(
        run=run,
        attempt=_count(resource.get(v.RUN_ATTEMPT)),
        role=str(resource.get(v.WORKER_ROLE, "")),
        rank=integer(resource.get(v.WORKER_RANK)),
        world_size=integer(resource.get(v.WORKER_WORLD_SIZE)),
        host=str(resource.get(v.HOST_NAME, "")),
        pid=_count(resource.get(v.PROCESS_PID)),
    )


def _count(value: object) -> int:
    return integer(value) or 0


def _counts(value: object) -> dict[str, int]:
    return {str(reason): _count(n) for reason, n in value.items()} if isinstance(value, dict) else {}


def _most(known: dict[str, int], told: dict[str, int]) -> dict[str, int]:
    """Counts only grow: one that fell was forgotten by a shipper whose state was deleted, and is still true."""
    return {reason: max(known.get(reason, 0), told.get(reason, 0)) for reason in {**known, **told}}


def _open_spans(value: object) -> list[dict[str, object]]:
    found = [span for span in value if isinstance(span, dict)] if isinstance(value, list) else []
    return [{"name": str(span.get("name", "")), "age": span.get("age", 0.0)} for span in found[:_SHOWN]]
