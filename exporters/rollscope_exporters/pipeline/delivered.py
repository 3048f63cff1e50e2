"""Traces that have gone out, remembered so that what comes later is known as late and duplicates are known as such."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

import msgspec

_encode = msgspec.msgpack.Encoder().encode

_REMEMBERED = 50_000
"""In memory; the others are looked up."""
_TOGETHER = 20
"""Traces that one query asks for, at most."""
_QUERIES = [f"SELECT trace, meta FROM traces WHERE open = 0 AND trace IN ({', '.join('?' * asked)})" for asked in range(_TOGETHER + 1)]
"""By the number of traces: few texts, as the `sqlite3` module keeps a statement prepared by its text."""


class DeliveredTrace(msgspec.Struct, array_like=True):
    """What is kept of a trace that has gone out."""

    run: str
    step: int | None
    ids: set[str]
    """Span ids of its spans without number."""
    root: str = ""
    """See `OpenTrace.owner`."""


_decode = msgspec.msgpack.Decoder(DeliveredTrace).decode


class Delivered:
    """All traces that have gone out."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._known: dict[str, DeliveredTrace] = {}
        self._new: dict[str, DeliveredTrace] = {}
        self._absent: set[str] = set()
        """Looked for in this commit, and not in the store."""

    def look_for(self, trace_ids: Iterable[str]) -> None:
        """Prepare to `get` these: one query for many costs hardly more than for one."""
        asked = [trace_id for trace_id in trace_ids if trace_id not in self._known and trace_id not in self._absent]
        for start in range(0, len(asked), _TOGETHER):
            some = asked[start : start + _TOGETHER]
            found = {trace_id: _decode(meta) for trace_id, meta in self._db.execute(_QUERIES[len(some)], some)}
            self._known.update(found)
            self._absent.update(some)
            self._absent.difference_update(found)

    def get(self, trace_id: str) -> DeliveredTrace | None:
        """Return the trace, None when it never went out or was forgotten."""
        if trace_id not in self._known:
            self.look_for((trace_id,))
        return self._known.get(trace_id)

    def add(self, trace_id: str, trace: DeliveredTrace) -> None:
        """Remember a trace that has gone out."""
        self._known[trace_id] = self._new[trace_id] = trace

    def changed(self, trace_id: str) -> None:
        """Say that what is kept of a trace has changed."""
        self._new[trace_id] = self._known[trace_id]

    def save(self, db: sqlite3.Connection, now: int) -> None:
        """Write what is new."""
        rows = [(trace_id, trace.run, now, _encode(trace)) for trace_id, trace in self._new.items()]
        db.executemany("INSERT OR REPLACE INTO traces VALUES (?, ?, 0, ?, ?)", rows)
        self._new.clear()
        self._absent.clear()
        while len(self._known) > _REMEMBERED:
            del self._known[next(iter(self._known))]

    @staticmethod
    def forget(db: sqlite3.Connection, before: int) -> None:
        """Delete traces that went out before `before` (Unix ns)."""
        db.execute("DELETE FROM traces WHERE open = 0 AND time < ?", (before,))
