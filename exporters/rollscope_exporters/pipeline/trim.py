"""Deleting outbox rows that nobody needs any more.

A row is needed while a backend that its run wants has not passed it. A wanted backend that has never started holds its runs' rows
for a day; every row stays ten minutes, so that a backend just asked for finds the beginning of its run, unless the store is full.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import msgspec

from ..ledger import totals
from ..positions import WorkerState
from ..store import Store
from .runs import Wanted
from .settings import HOUR

UNSTARTED = 24 * HOUR
STEP = 16
"""Blocks of ids deleted in one transaction, so that a commit of the pipeline never waits long."""

_encode = msgspec.msgpack.Encoder().encode


def trim(store: Store, workers: Sequence[WorkerState], wanted: Wanted, now: int, keep: int, step: int = STEP) -> bool:
    """Delete up to `step` whole blocks of delivered rows, none younger than `keep` ns; True when there is more to delete."""
    with store.transaction() as db:
        _join(db, store, workers)
    start = store.value("trimmed")
    end = needed_from(store, workers, wanted, now) // totals.BLOCK * totals.BLOCK
    end = min(end, _first_since(store, now - keep) // totals.BLOCK * totals.BLOCK)
    stop = min(end, start + step * totals.BLOCK)
    if stop <= start:
        return False
    with store.transaction() as db:
        _keep_set_aside(db, workers, start, stop)
        db.execute("DELETE FROM outbox WHERE id < ?", (stop,))
        totals.trim(db, stop)
        db.execute("INSERT OR REPLACE INTO meta VALUES ('trimmed', ?)", (stop,))
    return stop < end


def needed_from(store: Store, workers: Sequence[WorkerState], wanted: Wanted, now: int) -> int:
    """Return the lowest outbox id that some backend still needs; one above the head when none is needed."""
    positions = {(worker.backend, worker.run): worker.position for worker in workers}
    needed = store.head() + 1
    for run in store.runs():
        for backend in wanted(run.backends):
            position = positions.get((backend, run.run), positions.get((backend, None)))
            since = now - UNSTARTED if position is None else 0
            first = _first_of(store.db, run.run, position or 0, since)
            needed = min(needed, first or needed)
    return needed


def _first_of(db: sqlite3.Connection, run: str, after: int, since: int) -> int:
    """Return the first row of `run` above `after` that is not older than `since`, 0 when there is none."""
    row = db.execute("SELECT id FROM outbox WHERE run = ? AND id > ? AND time >= ? ORDER BY id LIMIT 1", (run, after, since)).fetchone()
    return int(row[0]) if row else 0


def _first_since(store: Store, time: int) -> int:
    """Return the lowest id whose row is not older than `time`: ids grow with time, so halving finds it."""
    low, high = store.value("trimmed"), store.head() + 1
    while low < high:
        middle = (low + high) // 2
        row = store.db.execute("SELECT time FROM outbox WHERE id >= ? ORDER BY id LIMIT 1", (middle,)).fetchone()
        if row is None or row[0] >= time:
            high = middle
        else:
            low = middle + 1
    return low


def _join(db: sqlite3.Connection, store: Store, workers: Sequence[WorkerState]) -> None:
    """Note, for each worker seen for the first time, what was gone before: that is not its to deliver."""
    known = {row[0] for row in db.execute("SELECT worker FROM joined")}
    new = [worker.name for worker in workers if worker.name not in known]
    if new:
        trimmed = store.value("trimmed")
        gone = _encode(_gone(db, trimmed))
        db.executemany("INSERT INTO joined VALUES (?, ?, ?)", [(name, trimmed, gone) for name in new])


def _gone(db: sqlite3.Connection, trimmed: int) -> Mapping[str, dict[str, dict[str, int]]]:
    found: dict[str, dict[str, dict[str, int]]] = {}
    if trimmed:
        query = "SELECT run, producer, signal, MAX(block), records FROM totals WHERE block < ? GROUP BY producer, run, signal"
        for run, producer, signal, _, records in db.execute(query, (trimmed // totals.BLOCK,)):
            found.setdefault(run, {}).setdefault(producer, {})[signal] = records
    return found


def _keep_set_aside(db: sqlite3.Connection, workers: Sequence[WorkerState], start: int, stop: int) -> None:
    ids = {entry.id for worker in workers for entry in worker.set_aside if start <= entry.id < stop}
    for id in ids:
        db.execute("INSERT OR IGNORE INTO kept SELECT id, run, signal, sources FROM outbox WHERE id = ?", (id,))
