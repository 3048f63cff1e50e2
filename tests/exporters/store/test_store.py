"""The store: who may open it, what a reader sees, and rows in order within bounds."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope_exporters.store import NewerStoreError, NoStoreError, OutboxRow, Store, StoreError, schema

pack = msgspec.msgpack.Encoder().encode


def put(store: Store, rows: list[tuple[str, str, bytes]]) -> None:
    """Rows (run, signal, payload) behind those that are there."""
    head = store.head()
    with store.transaction() as db:
        for id, (run, signal, payload) in enumerate(rows, head + 1):
            db.execute("INSERT INTO outbox VALUES (?, ?, ?, 0, ?, ?, ?)", (id, run, signal, len(payload), pack({"p": id}), payload))
        db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (head + len(rows),))


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store.db")


def test_a_reader_sees_committed_rows(store: Store) -> None:
    """A row is there for readers when its transaction is, with what it stands for."""
    reader = Store.open(store.path, read_only=True)
    assert (reader.head(), reader.rows(0, signals={"metrics"})) == (0, [])
    put(store, [("a", "metrics", b"one")])
    assert reader.head() == 1
    assert reader.rows(0, signals={"metrics"}) == [OutboxRow(1, "a", "metrics", b"one", {"p": 1})]
    reader.close()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=40)
@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["runs", "metrics", "logs"]), st.binary(max_size=30)), max_size=20),
    st.sets(st.sampled_from(["runs", "metrics", "logs"]), min_size=1),
    st.one_of(st.none(), st.sampled_from("abc")),
    st.integers(1, 5),
    st.integers(1, 60),
)
def test_reading_in_portions_gives_every_row_once(
    tmp_path: Path, rows: list[tuple[str, str, bytes]], signals: set[str], run: str | None, limit: int, size: int
) -> None:
    """Whatever the limits, a worker that goes on from the last id reads its share of the rows in order."""
    (tmp_path / "store.db").unlink(missing_ok=True)
    with Store.open(tmp_path / "store.db") as store:
        put(store, rows)
        found: list[OutboxRow] = []
        while portion := store.rows(found[-1].id if found else 0, signals=signals, run=run, limit=limit, max_bytes=size):
            assert len(portion) <= limit
            assert len(portion) == 1 or sum(len(row.payload) for row in portion) <= size
            found += portion
    expected = [(id, *row) for id, row in enumerate(rows, 1) if row[1] in signals and run in (None, row[0])]
    assert [(row.id, row.run, row.signal, row.payload) for row in found] == expected


def test_a_failed_transaction_leaves_nothing(store: Store) -> None:
    """What the body of a transaction raises undoes it."""

    def fail() -> None:
        with store.transaction() as db:
            db.execute("INSERT INTO meta VALUES ('head', 9)")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert store.head() == 0


def test_a_full_disk_leaves_a_store_that_can_be_written_later(store: Store) -> None:
    """When a commit finds no room, nothing of it stays, and the next one works as soon as there is room."""
    pages = store.db.execute("PRAGMA page_count").fetchone()[0]
    store.db.execute(f"PRAGMA max_page_count = {pages}")
    for _ in range(2):
        with pytest.raises(sqlite3.OperationalError, match="full"):
            put(store, [("a", "metrics", b"x" * 100_000)])
    store.db.execute("PRAGMA max_page_count = 1000000")
    put(store, [("a", "metrics", b"x")])
    assert [row.id for row in store.rows(0, signals={"metrics"})] == [1]


def test_a_reader_before_the_store(tmp_path: Path) -> None:
    """No file, and a file the pipeline has not filled yet, are both: not yet."""
    with pytest.raises(NoStoreError, match=r"store\.db: no store here"):
        Store.open(tmp_path / "store.db", read_only=True)
    sqlite3.connect(tmp_path / "store.db").close()
    (tmp_path / "store.db").touch()
    with pytest.raises(NoStoreError, match="empty"):
        Store.open(tmp_path / "store.db", read_only=True)


@pytest.mark.parametrize("read_only", [True, False])
def test_a_newer_store(tmp_path: Path, read_only: bool) -> None:
    """A layout of a later version is refused by name, with the cure."""
    with Store.open(tmp_path / "store.db") as store:
        store.db.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    with pytest.raises(NewerStoreError, match=r"written by a newer rollscope .* update rollscope"):
        Store.open(tmp_path / "store.db", read_only=read_only)


def test_a_file_that_is_no_store(tmp_path: Path) -> None:
    """Something else under the name is an error that names the file."""
    (tmp_path / "store.db").write_bytes(b"hello" * 100)
    for read_only in (True, False):
        with pytest.raises(StoreError, match=r"store\.db: cannot be opened as a store"):
            Store.open(tmp_path / "store.db", read_only=read_only)


def test_an_older_store_is_upgraded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each step of the way is taken once, in one transaction; a failing one leaves the old store."""
    Store.open(tmp_path / "store.db").close()
    monkeypatch.setattr(schema, "VERSION", schema.VERSION + 1)
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, lambda db: db.execute("ALTER TABLE outbox ADD COLUMN color") and 1 / 0)
    with pytest.raises(ZeroDivisionError):
        Store.open(tmp_path / "store.db")
    monkeypatch.setitem(schema.MIGRATIONS, schema.VERSION - 1, lambda db: db.execute("ALTER TABLE outbox ADD COLUMN color"))
    for _ in range(2):
        with Store.open(tmp_path / "store.db") as store:
            assert schema.version(store.db) == schema.VERSION
            store.db.execute("SELECT color FROM outbox")


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_store_in_a_folder_nobody_may_write(tmp_path: Path) -> None:
    """After the bridge has ended, the store can be read where nothing can be written."""
    with Store.open(tmp_path / "store.db") as store:
        put(store, [("a", "metrics", b"one")])
    tmp_path.chmod(0o500)
    try:
        assert Store.open(tmp_path / "store.db", read_only=True).head() == 1
    finally:
        tmp_path.chmod(0o700)


def test_it_syncs_before_it_says_committed(store: Store) -> None:
    """Positions of workers and deleted inbox segments rely on commits that survive a power cut."""
    assert store.db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store.db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
