"""Reading the ledger of a storage folder."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

import msgspec

from ..positions import read_workers
from ..store import Store
from . import clocks
from .backend_lines import BackendLines
from .model import Ledger, RunLedger
from .producer_lines import producer_lines, read_states, unheard
from .states import RunState
from .verdict import judge

_decode_run = msgspec.msgpack.Decoder(RunState).decode


def read_ledger(storage: Path, run: str | None = None, *, now: int | None = None) -> Ledger:
    """The ledger of one run, by id or by name (the latest of that name), or of all runs under `storage`.

    Raises `LookupError` for a run that is not known, `StoreError` when the store cannot be read, `ValueError` for a position file that
    is none. `now`: Unix ns, the clock's unless given.
    """
    workers = read_workers(storage)
    with Store.open(storage / "store.db", read_only=True) as store:
        # One read transaction: all numbers are of the same commit.
        store.db.execute("BEGIN")
        now = time.time_ns() if now is None else now
        return _read(store.db, BackendLines(store.db, workers, storage, now), run, now)


def _read(db: sqlite3.Connection, backends: BackendLines, run: str | None, now: int) -> Ledger:
    states = {id: _decode_run(state) for id, state in db.execute("SELECT run, state FROM runs ORDER BY started, run")}
    chosen = list(states) if run is None else [_find(states, run)]
    rejected = dict(db.execute("SELECT reason, records FROM rejections").fetchall())
    latest = [f"{entry}: {reason}" for entry, reason in db.execute("SELECT entry, reason FROM rejected ORDER BY id DESC LIMIT 5")]
    return Ledger(runs=[_run(db, backends, id, states[id], now) for id in chosen], rejected=rejected, rejected_latest=latest)


def _run(db: sqlite3.Connection, backends: BackendLines, id: str, state: RunState, now: int) -> RunLedger:
    states = read_states(db, id)
    producers = list(producer_lines(db, states, now))
    found = RunLedger(
        run=id,
        name=state.name,
        project=state.project,
        attempt=state.attempt,
        status="ending" if state.ending is not None else state.status,
        verdict="",
        produced=sum(p.produced for p in producers),
        received=sum(p.received for p in producers),
        missing=sum(p.missing for p in producers),
        duplicate=sum(p.duplicate for p in producers),
        dropped=sum(sum(p.dropped.values()) for p in producers),
        waiting=sum(p.waiting for p in producers),
        unnumbered=state.unnumbered,
        set_aside=state.set_aside,
        repaired=state.repaired,
        repeated=state.repeated,
        repeated_first=state.repeated_first,
        redacted=state.redacted,
        unheard=list(unheard(states)),
        hosts=clocks.measure(producer for _, producer in states),
        producers=producers,
        backends=backends.of_run(id, state.wanted, producers),
    )
    judge(found, now)
    return found


def _find(states: dict[str, RunState], run: str) -> str:
    if run in states:
        return run
    named = [id for id, state in states.items() if state.name == run]
    if not named:
        known = ", ".join(f"{id} ({state.name})" for id, state in list(states.items())[-5:]) or "none"
        raise LookupError(f"no run {run!r} here; known: {known}")
    return named[-1]
