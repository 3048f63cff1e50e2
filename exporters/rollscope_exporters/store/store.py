"""`Store`: one connection to `store.db`, for the pipeline to write and for everyone else to read.

Durability: WAL with `synchronous=FULL`. A killed process loses nothing under either mode, but after a power cut NORMAL may
take back the last commits. That would be wrong twice here: the inbox segments they came from are already deleted, and a worker
may have stored a position past outbox ids that would then be given to other rows. FULL costs one fsync a commit, and commits
are batches (at most five a second when idle, one per few MiB under load).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import msgspec

from . import schema
from ._errors import NoStoreError, StoreError

if TYPE_CHECKING:
    from typing_extensions import Self

_sources = msgspec.msgpack.Decoder(dict[str, int]).decode
_requested = msgspec.msgpack.Decoder(list[str] | None).decode


class OutboxRow(msgspec.Struct, frozen=True, gc=False):
    """One record on its way to the backends."""

    id: int
    """Grows by one per record, never used twice."""
    run: str
    signal: str
    """One of `records.SIGNALS`."""
    payload: bytes
    """`records.encode` of the record."""
    sources: dict[str, int]
    """Producer → how many of its numbered records the row stands for; `""` counts records without number."""


class RunRow(msgspec.Struct, frozen=True):
    """What the store knows of a run."""

    run: str
    name: str
    project: str
    attempt: int
    status: str
    """`running`, `finished`, `failed` or `aborted`."""
    backends: list[str] | None
    """What the run asked for: None when it said nothing, empty when it wants none."""
    started: int
    """Unix time, ns."""
    seen: int
    """When something of the run last arrived: Unix time, ns."""


class Store:
    """A connection; one thread at a time may use it."""

    def __init__(self, db: sqlite3.Connection, path: Path) -> None:
        self.db = db
        self.path = path

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        """Open the store, creating or upgrading it unless `read_only`.

        Raises `NoStoreError` when a reader finds no store, `NewerStoreError` for one of a newer version and
        `StoreError` when the file cannot be opened or is no store.
        """
        try:
            db = _connect_reader(path) if read_only else _connect_writer(path)
        except sqlite3.Error as error:
            raise StoreError(f"{path}: cannot be opened as a store: {error}") from error
        return cls(db, path)

    def close(self) -> None:
        """Close the connection."""
        self.db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """One all-or-nothing change; what the body raises rolls it back."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield self.db
            self.db.execute("COMMIT")
        except BaseException:
            if self.db.in_transaction:  # SQLite has rolled back itself when the disk was full
                self.db.execute("ROLLBACK")
            raise

    def head(self) -> int:
        """Return the highest committed outbox id, 0 when there was none yet; it stays when rows are deleted."""
        return self.value("head")

    def waiting(self) -> int:
        """Things the pipeline holds back at its last commit: traces that are not whole, rows and ends of runs that wait for others."""
        return self.value("waiting")

    def value(self, key: str) -> int:
        """Return a single value of `meta`, 0 when never set."""
        row = self.db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return int(row[0]) if row else 0

    def rows(
        self,
        after: int,
        *,
        signals: Collection[str],
        run: str | None = None,
        limit: int = 500,
        max_bytes: int = 8 << 20,
    ) -> list[OutboxRow]:
        """Rows with an id above `after`, oldest first: at most `limit`, and no more than `max_bytes` of payload unless one row is larger.

        A worker that reads nothing may set its position to a `head()` taken before the call: all rows up to there are of other
        signals or runs.
        """
        wanted = sorted(signals)
        where = f"id > ? AND signal IN ({', '.join('?' * len(wanted))})"
        arguments: list[object] = [after, *wanted]
        if run is not None:
            where, arguments = f"run = ? AND {where}", [run, *arguments]
        query = f"SELECT id, run, signal, payload, sources FROM outbox WHERE {where} ORDER BY id LIMIT ?"
        cursor = self.db.execute(query, [*arguments, limit])
        found: list[OutboxRow] = []
        size = 0
        for id, name, signal, payload, sources in cursor:
            size += len(payload)
            if found and size > max_bytes:
                break
            found.append(OutboxRow(id, name, signal, payload, _sources(sources)))
        cursor.close()
        return found

    def runs(self) -> list[RunRow]:
        """Return all runs that have reached the outbox, oldest first."""
        found = self.db.execute(
            "SELECT run, name, project, attempt, status, backends, started, seen FROM runs WHERE name != '' ORDER BY started"
        )
        return [
            RunRow(run, name, project, attempt, status, _requested(backends), started, seen)
            for run, name, project, attempt, status, backends, started, seen in found
        ]


def _connect_writer(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        schema.check(db, path)
        if schema.version(db) == 0:
            db.execute("PRAGMA page_size = 8192")
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute("PRAGMA wal_autocheckpoint = 2000")
        db.execute("PRAGMA journal_size_limit = 67108864")
        db.execute("PRAGMA cache_size = -65536")
        schema.upgrade(db)
    except BaseException:
        db.close()
        raise
    return db


def _connect_reader(path: Path) -> sqlite3.Connection:
    if not path.is_file():
        raise NoStoreError(f"{path}: no store here; the bridge makes it when it starts (check `storage`)")
    try:
        return _checked(path, "mode=ro")
    except sqlite3.OperationalError:
        # A folder we may not write has no room for the shared index of a WAL; without a WAL none is needed.
        if path.with_name(path.name + "-wal").exists():
            raise
        return _checked(path, "mode=ro&immutable=1")


def _checked(path: Path, options: str) -> sqlite3.Connection:
    uri = f"file:{quote(str(path.absolute()))}?{options}"
    db = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=30, check_same_thread=False)
    try:
        schema.check(db, path)
        if schema.version(db) == 0:
            raise NoStoreError(f"{path}: the store is empty; the bridge fills it when it starts")
        db.execute("SELECT count(*) FROM meta")
    except BaseException:
        db.close()
        raise
    return db
