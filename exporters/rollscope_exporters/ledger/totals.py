"""How many records had left through the outbox when it was at a given id.

Kept per block of outbox ids, so that it needs no row per record and stays right when delivered rows are deleted; within a block
the rows themselves are counted, and only whole blocks are ever deleted.
"""

from __future__ import annotations

import sqlite3
from collections import Counter

import msgspec

BLOCK = 1024

_sources = msgspec.msgpack.Decoder(dict[str, int]).decode

Key = tuple[str, str]
"""Producer, signal."""


def at(db: sqlite3.Connection, run: str, id: int) -> Counter[Key]:
    """Return records of `run` in rows up to outbox id `id`, by producer and signal."""
    found: Counter[Key] = Counter()
    query = "SELECT producer, signal, MAX(block), records FROM totals WHERE run = ? AND block < ? GROUP BY producer, signal"
    whole = (id + 1) // BLOCK
    for producer, signal, _, records in db.execute(query, (run, whole)):
        found[producer, signal] = records
    rows = db.execute("SELECT signal, sources FROM outbox WHERE run = ? AND id >= ? AND id <= ?", (run, whole * BLOCK, id))
    for signal, sources in rows:
        for producer, records in _sources(sources).items():
            found[producer, signal] += records
    return found


def now(db: sqlite3.Connection, run: str) -> Counter[Key]:
    """Return records of `run` in all rows there ever were."""
    query = "SELECT producer, signal, MAX(block), records FROM totals WHERE run = ? GROUP BY producer, signal"
    return Counter({(producer, signal): records for producer, signal, _, records in db.execute(query, (run,))})


def of_producer(db: sqlite3.Connection, producer: str) -> int:
    """Return records of `producer` in all rows there ever were, of whatever run."""
    query = "SELECT MAX(block), records FROM totals WHERE producer = ? GROUP BY run, signal"
    return sum(records for _, records in db.execute(query, (producer,)))


def trim(db: sqlite3.Connection, below: int) -> None:
    """Delete what nobody asks for any more once rows below id `below` (a multiple of `BLOCK`) are gone."""
    db.execute(
        "DELETE FROM totals WHERE block < :block AND EXISTS (SELECT 1 FROM totals AS later WHERE later.producer = totals.producer "
        "AND later.run = totals.run AND later.signal = totals.signal AND later.block > totals.block AND later.block < :block)",
        {"block": below // BLOCK},
    )
