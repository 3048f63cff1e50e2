"""Parts of open traces: in the store from the first commit on, and in memory too while there is room."""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Iterable

import msgspec

from ..assemble import Part
from .open_trace import OpenTrace

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(list[Part]).decode

_IN_MEMORY = 4
"""Bytes of memory a byte of encoded part takes, about."""


class Parts:
    """Parts of all open traces; about `cache_bytes` of them stay in memory, and those of the longest untouched traces go first."""

    def __init__(self, db: sqlite3.Connection, cache_bytes: int) -> None:
        self._db = db
        self._cache_bytes = cache_bytes
        self._cached: OrderedDict[str, OpenTrace] = OrderedDict()
        """Traces of which parts are in memory, the longest untouched first."""
        self._bytes = 0
        self._gone: list[str] = []
        """Traces taken in this commit that had parts in the store."""

    def take(self, trace_id: str, known: OpenTrace) -> list[Part]:
        """Return all parts of a trace that goes out, and let go of them."""
        parts = self._stored(trace_id, known) + known.fresh
        if self._cached.pop(trace_id, None):
            self._bytes -= known.cached
        if known.meta.size:
            self._gone.append(trace_id)
        return parts

    def _stored(self, trace_id: str, known: OpenTrace) -> list[Part]:
        if known.parts is not None:
            return known.parts
        rows = self._db.execute("SELECT payload FROM parts WHERE trace = ? ORDER BY id", (trace_id,))
        return [part for row in rows for part in _decode(row[0])]

    def save(self, db: sqlite3.Connection, changed: Iterable[tuple[str, OpenTrace]]) -> None:
        """Write the fresh parts of the traces that changed, and delete those of traces that were taken."""
        rows = []
        for trace_id, known in changed:
            if known.fresh:
                payload = _encode(known.fresh)
                known.meta.size += len(payload)
                rows.append((trace_id, payload))
                self._keep(trace_id, known, len(payload) * _IN_MEMORY)
        db.executemany("INSERT INTO parts (trace, payload) VALUES (?, ?)", rows)
        db.executemany("DELETE FROM parts WHERE trace = ?", [(trace_id,) for trace_id in self._gone])
        self._gone.clear()
        self._evict()

    def _keep(self, trace_id: str, known: OpenTrace, size: int) -> None:
        """Keep in memory what is fresh no more, unless older parts are in the store only."""
        if known.parts is not None:
            known.parts.extend(known.fresh)
            self._cached[trace_id] = known
            self._cached.move_to_end(trace_id)
            known.cached += size
            self._bytes += size
        known.fresh = []

    def _evict(self) -> None:
        while self._bytes > self._cache_bytes:
            _, known = self._cached.popitem(last=False)
            self._bytes -= known.cached
            known.parts, known.cached = None, 0
