"""Outbox ids over the life of a storage, also when its store is removed, put back from a copy, or damaged."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope_exporters.pipeline.numbering import continue_numbering
from rollscope_exporters.store import Store
from tests.exporters.bridge import Bridge
from tests.exporters.ledger.test_ledger import run_through
from tests.exporters.wire import process, requests


def remove_store(storage: Path) -> None:
    """As somebody does whose disk is full, or whose database is damaged."""
    for path in storage.glob("store.db*"):
        path.unlink()


def one_run(bridge: Bridge, run: str, producer: str) -> None:
    """Let a whole run arrive."""
    with process(producer, run=run) as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))


def test_rows_of_a_new_store_are_not_taken_for_delivered(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The workers' positions are of the former store: its successor's rows are numbered behind them, and somebody is told."""
    bridge = Bridge(tmp_path)
    one_run(bridge, "run-1", "00000000000000aa")
    bridge.deliver()
    passed = bridge.store.head()
    assert passed > 0
    bridge.store.close()
    remove_store(tmp_path)
    with Store.open(tmp_path / "store.db") as store, caplog.at_level(logging.ERROR):
        continue_numbering(store, tmp_path)
        assert store.head() == passed
    assert f"backends have taken records up to {passed}" in caplog.text
    again = Bridge(tmp_path)
    one_run(again, "run-2", "00000000000000bb")
    assert [row.id for row in again.rows()] == list(range(passed + 1, again.store.head() + 1))
    (run,) = again.ledger().runs
    assert (run.run, run.backends[0].delivered, run.verdict) == ("run-2", 0, "delivering")
    again.deliver()
    (run,) = again.ledger().runs
    assert (run.backends[0].delivered, run.verdict) == (run.produced, "complete")


def test_a_store_that_is_ahead_is_left_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """As it is at every start but those."""
    bridge = Bridge(tmp_path)
    one_run(bridge, "run-1", "00000000000000aa")
    bridge.deliver(upto=1)
    head = bridge.store.head()
    continue_numbering(bridge.store, tmp_path)
    assert (bridge.store.head(), caplog.text) == (head, "")


def test_a_damaged_store_is_named_with_the_cure(tmp_path: Path) -> None:
    """One line and the exit code that says that another try is of no use; what arrives waits in the inbox."""
    bridge = Bridge(tmp_path)
    for number in range(200):
        one_run(bridge, f"run-{number}", f"{number:016x}")
    bridge.store.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    bridge.store.close()
    path = tmp_path / "store.db"
    whole = path.read_bytes()
    path.write_bytes(whole[:8192] + b"\xa5" * (len(whole) - 8192))
    command = [sys.executable, "-m", "rollscope_exporters.pipeline", "--storage", str(tmp_path)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 78
    assert f"{path} is damaged: " in done.stderr
    assert "move store.db, store.db-wal and store.db-shm away" in done.stderr
    assert "Traceback" not in done.stderr
