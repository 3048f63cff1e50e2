"""Outboxes for tests: a real store filled by hand, and one in memory."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from rollscope_exporters.records import LogLine, Record, encode
from rollscope_exporters.store import OutboxRow, Store


def line(name: str, run: str = "r1") -> LogLine:
    """Return a record that is known by `name`."""
    return LogLine(run=run, time=1, body=name)


class MemoryOutbox:
    """The rows of a list; ids from 1."""

    def __init__(self, records: Iterable[Record | bytes] = ()) -> None:
        self.rows_: list[OutboxRow] = []
        for record in records:
            self.add(record)

    def add(self, record: Record | bytes, run: str = "r1") -> None:
        """Append a row; bytes are a payload that is no record."""
        payload = record if isinstance(record, bytes) else encode(record)
        signal = "logs" if isinstance(record, bytes) else record.signal
        run = run if isinstance(record, bytes) else record.run
        self.rows_.append(OutboxRow(len(self.rows_) + 1, run, signal, payload, {}))

    def head(self) -> int:
        """Highest id."""
        return len(self.rows_)

    def rows(
        self, after: int, *, signals: Collection[str], run: str | None = None, limit: int = 500, max_bytes: int = 8 << 20
    ) -> Sequence[OutboxRow]:
        """As the store does."""
        wanted = [row for row in self.rows_ if row.id > after and row.signal in signals and run in (None, row.run)][:limit]
        size, found = 0, []
        for row in wanted:
            size += len(row.payload)
            if found and size > max_bytes:
                break
            found.append(row)
        return found


class FilledStore:
    """A real store whose outbox is filled by hand."""

    def __init__(self, storage: Path) -> None:
        storage.mkdir(parents=True, exist_ok=True)
        self.store = Store.open(storage / "store.db")

    def add(self, records: Iterable[Record]) -> None:
        """Commit rows, in one transaction."""
        with self.store.transaction() as db:
            head = self.store.head()
            for id, record in enumerate(records, head + 1):
                payload = encode(record)
                db.execute(
                    "INSERT INTO outbox (id, run, signal, time, size, sources, payload) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (id, record.run, record.signal, time.time_ns(), len(payload), msgspec.msgpack.encode({"": 1}), payload),
                )
                db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (id,))

    def announce(self, run: str, backends: list[str] | None, status: str = "running") -> None:
        """Tell of a run."""
        with self.store.transaction() as db:
            db.execute(
                "INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (run, run, "p", 0, status, msgspec.msgpack.encode(backends), 1, 1, b""),
            )

    def close(self) -> None:
        """Close."""
        self.store.close()
