"""What goes to the backends: rows in order, counted by producer, held until their run has been announced."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from ..ledger.totals import BLOCK
from ..records import Record, RunStarted, encode

_encode_sources = msgspec.msgpack.Encoder().encode
_decode_sources = msgspec.msgpack.Decoder(dict[str, int]).decode

HELD_BYTES = 64 << 20
"""A run with more than this waiting is announced without its driver's word."""


class _Row(NamedTuple):
    run: str
    signal: str
    sources: Mapping[str, int]
    payload: bytes


class Outbox:
    """Rows of the commit under way."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._head = _value(db, "head")
        self._rows: list[_Row] = []
        self._held: dict[str, list[_Row]] = {}
        self._held_bytes: dict[str, int] = {}
        self._held_new: list[_Row] = []
        self._released: set[str] = set()
        self._totals: dict[tuple[str, str, str], int] = {}
        query = "SELECT producer, run, signal, MAX(block), records FROM totals GROUP BY producer, run, signal"
        for producer, run, signal, _, records in db.execute(query):
            self._totals[producer, run, signal] = records
        for run, signal, sources, payload in db.execute("SELECT run, signal, sources, payload FROM held ORDER BY rowid"):
            self._hold(_Row(run, signal, _decode_sources(sources), payload))
        self._open = {row[0] for row in db.execute("SELECT run FROM runs WHERE name != ''")}

    def add(self, record: Record, sources: Mapping[str, int]) -> None:
        """Queue `record`, which stands for `sources` numbered records by producer."""
        row = _Row(record.run, record.signal, sources, encode(record))
        if record.run in self._open:
            self._rows.append(row)
        else:
            self._hold(row)
            self._held_new.append(row)

    def announce(self, record: RunStarted, sources: Mapping[str, int]) -> None:
        """Queue the start of a run and, behind it, whatever was held for it."""
        self._rows.append(_Row(record.run, record.signal, sources, encode(record)))
        if record.run not in self._open:
            self._open.add(record.run)
            if held := self._held.pop(record.run, None):
                self._rows.extend(held)
                self._released.add(record.run)
                self._held_new = [row for row in self._held_new if row.run != record.run]
            self._held_bytes.pop(record.run, None)

    def _hold(self, row: _Row) -> None:
        self._held.setdefault(row.run, []).append(row)
        self._held_bytes[row.run] = self._held_bytes.get(row.run, 0) + len(row.payload)

    def holds_much(self, run: str) -> bool:
        """Return whether so much of `run` is held that it cannot wait any longer."""
        return self._held_bytes.get(run, 0) > HELD_BYTES

    @property
    def held(self) -> int:
        """Rows that wait for their run to be announced."""
        return sum(map(len, self._held.values()))

    def save(self, db: sqlite3.Connection, now: int) -> None:
        """Write the rows, their totals and what is held."""
        for run in self._released:
            db.execute("DELETE FROM held WHERE run = ?", (run,))
        held = [(row.run, row.signal, _encode_sources(row.sources), row.payload) for row in self._held_new]
        db.executemany("INSERT INTO held VALUES (?, ?, ?, ?)", held)
        if self._rows:
            self._save_rows(db, now)
        self._rows, self._held_new = [], []
        self._released.clear()

    def _save_rows(self, db: sqlite3.Connection, now: int) -> None:
        rows: list[tuple[object, ...]] = []
        changed: dict[tuple[str, str, str, int], int] = {}
        totals = self._totals
        for id, row in enumerate(self._rows, self._head + 1):
            rows.append((id, row.run, row.signal, now, len(row.payload), _encode_sources(row.sources), row.payload))
            for producer, records in row.sources.items():
                key = producer, row.run, row.signal
                totals[key] = changed[producer, row.run, row.signal, id // BLOCK] = totals.get(key, 0) + records
        db.executemany("INSERT INTO outbox (id, run, signal, time, size, sources, payload) VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        db.executemany("INSERT OR REPLACE INTO totals VALUES (?, ?, ?, ?, ?)", [(*key, records) for key, records in changed.items()])
        self._head += len(rows)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (self._head,))


def _value(db: sqlite3.Connection, key: str) -> int:
    row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return int(row[0]) if row else 0
