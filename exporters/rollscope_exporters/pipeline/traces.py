"""Traces: parts join until a trace is whole, then it goes out; what comes later goes out as late.

Of every open trace a few numbers are in memory, its parts are in the store (`parts`). A trace is whole when its root and as many records
as the root counted are here. Where nobody counted (a foreign program, an aborted root) it is whole when it has been quiet for
`settings.quiet`; where something is missing, it goes out as incomplete after `settings.idle`, or when its run's producers are done.
Facts that came before any span of their trajectory wait for it much longer: nothing can be done with them without it.

Two trajectories with the same coordinates in two processes have the same trace id. Which of their records is whose cannot be told
while they come (a span comes before its parent, a reward names its trajectory only), so they are joined, and each further root is
counted by its run.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

import msgspec

from ..assemble import Item, Part
from ..records import Span
from .assembly import Assembly
from .delivered import Delivered, DeliveredTrace
from .images import Images
from .late import Late
from .open_trace import Meta, OpenTrace, ends_trajectory, is_lone
from .outbox import Outbox
from .parts import Parts
from .resources import Source, Sources
from .settings import PipelineSettings
from .waiting import Waiting

_encode = msgspec.msgpack.Encoder().encode
_decode_meta = msgspec.msgpack.Decoder(Meta).decode


class Traces:
    """All open traces."""

    def __init__(
        self, db: sqlite3.Connection, outbox: Outbox, sources: Sources, images: Images, settings: PipelineSettings, now: int
    ) -> None:
        self._settings = settings
        self._open: dict[str, OpenTrace] = {}
        self._per_run: Counter[str] = Counter()
        self._waiting = Waiting(settings)
        self._parts = Parts(db, settings.cache_bytes)
        self._assembly = Assembly(outbox, sources, images)
        self._delivered = Delivered(db)
        self._late = Late(self._assembly, self._delivered)
        self._changed: dict[str, None] = {}
        self._forgotten: list[str] = []
        """Traces given up in this commit: records named them and no span ever came."""
        for trace_id, run, meta in db.execute("SELECT trace, run, meta FROM traces WHERE open = 1"):
            self._insert(trace_id, OpenTrace(run, _decode_meta(meta), None, now))

    # -- arrivals -----------------------------------------------------------------------------------------------------

    def add_spans(self, source: Source, spans: Iterable[tuple[int, Span]], now: int) -> int:
        """Take spans of one request, each with its number, but for those that came before; return how many without number were new."""
        if source.producer is None:
            spans = [(0, span) for _, span in spans]
        unnumbered = 0
        by_trace = [(trace_id, list(together)) for trace_id, together in groupby(spans, _trace_of)]
        self._delivered.look_for([trace_id for trace_id, _ in by_trace if trace_id not in self._open])
        for trace_id, found in by_trace:
            root = next((place for place, (_, span) in enumerate(found) if span.parent_id is None), len(found))
            known = self._awaiting_root(trace_id, source, now) if root else None
            if known is not None:  # nothing before the root makes it whole: one look at the trace does for all
                unnumbered += self._add_below(trace_id, known, source, found[:root], now)
                found = found[root:]
            for number, span in found:
                if source.take(number) and self.add(trace_id, source, number, span, now) and not number:
                    unnumbered += 1
        return unnumbered

    def _awaiting_root(self, trace_id: str, source: Source, now: int) -> OpenTrace | None:
        """Return the trace if its root is still to come; a new one if nobody heard of it."""
        known = self._open.get(trace_id)
        if known is not None:
            return known if known.awaits_root else None
        return OpenTrace(source.run, Meta(), [], now) if self._delivered.get(trace_id) is None else None

    def _add_below(self, trace_id: str, known: OpenTrace, source: Source, spans: Sequence[tuple[int, Span]], now: int) -> int:
        before = known.meta.spans
        unnumbered = known.add_below(source.new(spans), source.id, source.name)
        if known.meta.spans > before:
            if trace_id not in self._open:
                self._insert(trace_id, known)
            self._touch(trace_id, known, now)
        return unnumbered

    def add(self, trace_id: str, source: Source, number: int, item: Item, now: int) -> bool:
        """Take one record under a trace; False when it is a span that was taken before."""
        part = Part(source.id, number, item)
        known = self._open.get(trace_id)
        if known is None:
            if (gone := self._delivered.get(trace_id)) is not None:
                self._note_late_root(trace_id, gone, source, part)
                return self._late.add(trace_id, gone, part)
            if number and source.producer and source.producer.gapless and isinstance(item, Span) and is_lone(item):
                self._assembly.send_alone(trace_id, source, item)
                self._delivered.add(trace_id, DeliveredTrace(source.run, None, set()))
                return True
            known = OpenTrace(source.run, Meta(), [], now)
            self._insert(trace_id, known)
        if isinstance(item, Span):
            if not number and item.span_id in known.meta.ids:
                return False
            if ends_trajectory(item, number) and known.owner not in ("", item.span_id):
                source.repeated(item)
        run = known.run
        known.add(part, source.name, source.run)
        if known.run != run:
            self._per_run[run] -= 1
            self._per_run[known.run] += 1
        self._touch(trace_id, known, now)
        return True

    def _note_late_root(self, trace_id: str, gone: DeliveredTrace, source: Source, part: Part) -> None:
        root = part.item
        if not ends_trajectory(root, part.sequence) or gone.root == root.span_id:
            return
        if gone.root:
            source.repeated(root)
        else:
            gone.root = root.span_id
            self._delivered.changed(trace_id)

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

    def _insert(self, trace_id: str, known: OpenTrace) -> None:
        self._open[trace_id] = known
        self._per_run[known.run] += 1
        self._waiting.touch(trace_id, known, known.touched)

    def _touch(self, trace_id: str, known: OpenTrace, now: int) -> None:
        self._changed[trace_id] = None
        if known.whole:
            self._deliver(trace_id, known)
        else:
            self._waiting.touch(trace_id, known, now)

    def still_open(self, trace_id: str, now: int) -> None:
        """Note that a span of the trace is open in its process: a long tool call is no silence."""
        if known := self._open.get(trace_id):
            self._waiting.touch(trace_id, known, now)

    # -- deliveries ---------------------------------------------------------------------------------------------------

    def tick(self, now: int) -> None:
        """Deliver what has waited long enough, and what came late."""
        for trace_id, known in self._waiting.due(now):
            self._deliver(trace_id, known)
        self._late.send()

    def settle(self, run: str) -> None:
        """Deliver every open trace of `run` as it is: nothing more will come."""
        if self._per_run[run]:
            for trace_id, known in [(id, known) for id, known in self._open.items() if known.run == run]:
                self._deliver(trace_id, known)
        self._late.send()

    def split_large(self) -> None:
        """Deliver, as they are, traces that have grown beyond what one record may hold."""
        limit = self._settings.trace_bytes
        for trace_id in [id for id in self._changed if self._open[id].meta.size > limit]:
            self._deliver(trace_id, self._open[trace_id], f"what came after its first {limit} bytes")

    def _deliver(self, trace_id: str, known: OpenTrace, missing: str = "") -> None:
        parts = self._parts.take(trace_id, known)
        self._drop(trace_id, known)
        step = self._assembly.send(known.run, trace_id, parts, missing or known.missing())
        if known.meta.spans:
            self._delivered.add(trace_id, DeliveredTrace(known.run, step, known.meta.ids, known.owner))
        else:
            self._forgotten.append(trace_id)

    def _drop(self, trace_id: str, known: OpenTrace) -> None:
        del self._open[trace_id]
        self._per_run[known.run] -= 1
        self._waiting.leave(trace_id, known)
        self._changed.pop(trace_id, None)

    # -- the store ----------------------------------------------------------------------------------------------------

    @property
    def open(self) -> int:
        """Open traces."""
        return len(self._open)

    def save(self, db: sqlite3.Connection, now: int) -> None:
        """Write new parts and what became of the traces touched since the last time."""
        changed = [(trace_id, self._open[trace_id]) for trace_id in self._changed]
        self._parts.save(db, changed)  # first: it tells how much of each is in the store
        rows = [(trace_id, known.run, known.touched, _encode(known.meta)) for trace_id, known in changed]
        db.executemany("INSERT OR REPLACE INTO traces VALUES (?, ?, 1, ?, ?)", rows)
        db.executemany("DELETE FROM traces WHERE trace = ?", [(trace_id,) for trace_id in self._forgotten])
        self._delivered.save(db, now)
        self._changed.clear()
        self._forgotten.clear()


def _trace_of(numbered: tuple[int, Span]) -> str:
    return numbered[1].trace_id
