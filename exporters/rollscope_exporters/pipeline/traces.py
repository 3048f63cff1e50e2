"""Traces: parts join until a trace is whole, then it goes out; what comes later goes out as late.

Of every open trace a few numbers are in memory; the parts are in the store from the first commit on, and in memory too
while there is room (`settings.cache_bytes`, the longest untouched ones go first). A trace is whole when its root and as many records
as the root counted are here. Where nobody counted (a foreign program, an aborted root) it is whole when it has been quiet for
`settings.quiet`; where something is missing, it goes out as incomplete after `settings.idle`, or when its run's producers are done.
Facts that came before any span of their trajectory wait for it much longer: nothing can be done with them without it.
"""

from __future__ import annotations

import logging
import sqlite3
from collections import Counter, OrderedDict
from collections.abc import Iterable, Sequence
from itertools import takewhile

import msgspec
from msgspec.structs import force_setattr

from ..assemble import Item, Part, is_trajectory, late_records, spans_of, trajectory
from ..records import LateFacts, Span, Trace, Trajectory
from .delivered import Delivered, DeliveredTrace
from .images import Images
from .open_trace import Meta, OpenTrace, is_lone
from .outbox import Outbox
from .resources import Source, Sources
from .settings import PipelineSettings

log = logging.getLogger("rollscope.pipeline")

_encode = msgspec.msgpack.Encoder().encode
_decode_meta = msgspec.msgpack.Decoder(Meta).decode
_decode_parts = msgspec.msgpack.Decoder(list[Part]).decode

_IN_MEMORY = 4
"""Bytes of memory a byte of encoded part takes, about."""


class Traces:
    """All open traces."""

    def __init__(
        self, db: sqlite3.Connection, outbox: Outbox, sources: Sources, images: Images, settings: PipelineSettings, now: int
    ) -> None:
        self._db = db
        self._outbox = outbox
        self._sources = sources
        self._images = images
        self._settings = settings
        self._open: dict[str, OpenTrace] = {}
        self._queues: tuple[tuple[dict[str, None], int], ...] = (
            ({}, settings.quiet),
            ({}, settings.idle),
            ({}, settings.remember),
        )
        """Open traces by `OpenTrace.patience`, the longest untouched first, and how long they wait for news."""
        self._per_run: Counter[str] = Counter()
        self._delivered = Delivered(db)
        self._late: dict[str, list[Part]] = {}
        self._changed: dict[str, None] = {}
        self._stored: list[str] = []
        """Traces delivered in this commit that had parts in the store."""
        self._forgotten: list[str] = []
        """Traces given up in this commit: records named them and no span ever came."""
        self._cached: OrderedDict[str, int] = OrderedDict()
        self._cached_bytes = 0
        for trace_id, run, meta in db.execute("SELECT trace, run, meta FROM traces WHERE open = 1"):
            self._insert(trace_id, OpenTrace(run, _decode_meta(meta), None, now))

    # -- arrivals -----------------------------------------------------------------------------------------------------

    def add(self, trace_id: str, source: Source, number: int, item: Item, now: int) -> bool:
        """Take one record under a trace; False when it is a span that was taken before."""
        part = Part(source.id, number, item)
        known = self._open.get(trace_id)
        if known is None:
            if (gone := self._delivered.get(trace_id)) is not None:
                return self._add_late(trace_id, gone, part)
            if number and source.producer and source.producer.gapless and isinstance(item, Span) and is_lone(item):
                self._send_alone(trace_id, source, item)
                return True
            known = OpenTrace(source.run, Meta(), [], now)
            self._insert(trace_id, known)
        if not number and isinstance(item, Span) and item.span_id in known.meta.ids:
            return False
        run = known.run
        known.add(part, source.name, source.run)
        if known.run != run:
            self._per_run[run] -= 1
            self._per_run[known.run] += 1
        self._touch(trace_id, known, now)
        return True

    def count(self, trace_id: str, source: Source, number: int, now: int) -> None:
        """Note a numbered record that belongs to a trace and goes its own way, such as a log line."""
        known = self._open.get(trace_id)
        if known is None:
            if not number or self._delivered.get(trace_id) is not None:
                return
            known = OpenTrace(source.run, Meta(), [], now)
            self._insert(trace_id, known)
        if number:
            known.count(source.name, number)
        self._touch(trace_id, known, now)

    def _add_late(self, trace_id: str, gone: DeliveredTrace, part: Part) -> bool:
        if not part.sequence and isinstance(part.item, Span):
            if part.item.span_id in gone.ids:
                return False
            gone.ids.add(part.item.span_id)
            self._delivered.changed(trace_id)
        self._late.setdefault(trace_id, []).append(part)
        return True

    def _insert(self, trace_id: str, known: OpenTrace) -> None:
        self._open[trace_id] = known
        self._per_run[known.run] += 1
        self._wait(trace_id, known, known.touched)

    def _touch(self, trace_id: str, known: OpenTrace, now: int) -> None:
        self._changed[trace_id] = None
        if known.whole:
            self._deliver(trace_id, known)
        else:
            self._wait(trace_id, known, now)

    def _wait(self, trace_id: str, known: OpenTrace, now: int) -> None:
        patience = known.patience
        if known.queue == patience and known.touched == now:
            return  # its request has touched it before; those behind it were touched no later
        self._leave_queue(trace_id, known)
        known.touched, known.queue = now, patience
        self._queues[patience][0][trace_id] = None

    def _leave_queue(self, trace_id: str, known: OpenTrace) -> None:
        if known.queue >= 0:
            del self._queues[known.queue][0][trace_id]
            known.queue = -1

    def still_open(self, trace_id: str, now: int) -> None:
        """Note that a span of the trace is open in its process: a long tool call is no silence."""
        if known := self._open.get(trace_id):
            self._wait(trace_id, known, now)

    # -- deliveries ---------------------------------------------------------------------------------------------------

    def tick(self, now: int) -> None:
        """Deliver what has waited long enough, and what came late."""
        for queue, time in self._queues:
            for trace_id in self._untouched(queue, now - time):
                self._deliver(trace_id, self._open[trace_id])
        self._deliver_late()

    def _untouched(self, queue: Iterable[str], since: int) -> list[str]:
        return list(takewhile(lambda trace_id: self._open[trace_id].touched <= since, queue))

    def settle(self, run: str) -> None:
        """Deliver every open trace of `run` as it is: nothing more will come."""
        if self._per_run[run]:
            for trace_id, known in [(id, known) for id, known in self._open.items() if known.run == run]:
                self._deliver(trace_id, known)
        self._deliver_late()

    def _deliver(self, trace_id: str, known: OpenTrace, missing: str = "") -> None:
        parts = self._parts(trace_id, known) + known.fresh
        self._drop(trace_id, known)
        step = self._send(trace_id, known, parts, missing or known.missing())
        if known.meta.spans:
            self._delivered.add(trace_id, DeliveredTrace(known.run, step, known.meta.ids))
        else:
            self._forgotten.append(trace_id)
        if known.meta.size:
            self._stored.append(trace_id)

    def _send_alone(self, trace_id: str, source: Source, span: Span) -> None:
        force_setattr(span, "resource", source.attributes)
        self._outbox.add(Trace(run=source.run, trace_id=trace_id, spans=[span]), {source.name: 1})
        self._delivered.add(trace_id, DeliveredTrace(source.run, None, set()))

    def _send(self, trace_id: str, known: OpenTrace, parts: list[Part], missing: str) -> int | None:
        spans = spans_of(parts, self._sources)
        if spans and is_trajectory(spans):
            try:
                whole = self._images.within(trajectory(known.run, trace_id, spans, parts, missing))
            except (sqlite3.Error, MemoryError):
                raise
            except Exception:  # it would stop everything behind it, at every start
                log.exception("trajectory %s of %s cannot be assembled; its spans are delivered as a plain trace", trace_id, known.run)
            else:
                self._put(whole, parts)
                return whole.step
        own = [part for part in parts if isinstance(part.item, Span)]
        if own:
            self._put(Trace(run=known.run, trace_id=trace_id, spans=spans), own)
        if len(own) < len(parts):
            self._send_late(trace_id, known.run, None, [part for part in parts if not isinstance(part.item, Span)])
        return None

    def _send_late(self, trace_id: str, run: str, step: int | None, parts: Sequence[Part]) -> None:
        for record, of in late_records(run, trace_id, parts, self._sources, step):
            self._put(record, of)

    def _deliver_late(self) -> None:
        for trace_id, parts in self._late.items():
            if (gone := self._delivered.get(trace_id)) is not None:
                self._send_late(trace_id, gone.run, gone.step, parts)
        self._late.clear()

    def _put(self, record: Trajectory | Trace | LateFacts, parts: Sequence[Part]) -> None:
        sources: dict[str, int] = {}
        for resource, records in Counter([part.resource if part.sequence else 0 for part in parts]).items():
            name = self._sources.producer_of(resource) if resource else ""
            sources[name] = sources.get(name, 0) + records
        self._outbox.add(record, sources)

    def _drop(self, trace_id: str, known: OpenTrace) -> None:
        del self._open[trace_id]
        self._per_run[known.run] -= 1
        self._leave_queue(trace_id, known)
        self._changed.pop(trace_id, None)
        self._cached_bytes -= self._cached.pop(trace_id, 0)

    def _parts(self, trace_id: str, known: OpenTrace) -> list[Part]:
        if known.parts is not None:
            return known.parts
        rows = self._db.execute("SELECT payload FROM parts WHERE trace = ? ORDER BY id", (trace_id,))
        return [part for row in rows for part in _decode_parts(row[0])]

    # -- the store ----------------------------------------------------------------------------------------------------

    @property
    def open(self) -> int:
        """Open traces."""
        return len(self._open)

    def save(self, db: sqlite3.Connection, now: int) -> None:
        """Write new parts and what became of the traces touched since the last time."""
        rows, parts = [], []
        for trace_id in self._changed:
            known = self._open[trace_id]
            if known.fresh:
                payload = _encode(known.fresh)
                known.meta.size += len(payload)
                parts.append((trace_id, payload))
                self._remember(trace_id, known, len(payload))
            rows.append((trace_id, known.run, known.touched, _encode(known.meta)))
        db.executemany("INSERT INTO parts (trace, payload) VALUES (?, ?)", parts)
        db.executemany("INSERT OR REPLACE INTO traces VALUES (?, ?, 1, ?, ?)", rows)
        db.executemany("DELETE FROM parts WHERE trace = ?", [(trace_id,) for trace_id in self._stored])
        db.executemany("DELETE FROM traces WHERE trace = ?", [(trace_id,) for trace_id in self._forgotten])
        self._delivered.save(db, now)
        self._changed.clear()
        self._stored.clear()
        self._forgotten.clear()
        self._evict()

    def _remember(self, trace_id: str, known: OpenTrace, size: int) -> None:
        if known.parts is not None:
            known.parts.extend(known.fresh)
            self._cached[trace_id] = self._cached.pop(trace_id, 0) + size * _IN_MEMORY
            self._cached_bytes += size * _IN_MEMORY
        known.fresh = []

    def _evict(self) -> None:
        while self._cached_bytes > self._settings.cache_bytes:
            trace_id, size = self._cached.popitem(last=False)
            self._cached_bytes -= size
            self._open[trace_id].parts = None

    def split_large(self) -> None:
        """Deliver, as they are, traces that have grown beyond what one record may hold."""
        limit = self._settings.trace_bytes
        for trace_id in [id for id in self._changed if self._open[id].meta.size > limit]:
            self._deliver(trace_id, self._open[trace_id], f"what came after its first {limit} bytes")
