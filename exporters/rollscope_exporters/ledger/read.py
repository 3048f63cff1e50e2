"""Reading the ledger of a storage folder."""

from __future__ import annotations

import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..positions import WorkerState, read_workers, why_waiting
from ..settings import why_unknown
from ..store import Store
from ..uploads import Upload, read_uploads
from . import clocks, totals
from .model import BackendLine, Ledger, ProducerLine, RunLedger, SetAsideLine
from .sequences import SequenceSet
from .states import ProducerState, RunState
from .totals import Key
from .verdict import SILENT, judge

_decode_run = msgspec.msgpack.Decoder(RunState).decode
_decode_producer = msgspec.msgpack.Decoder(ProducerState).decode
_decode_sources = msgspec.msgpack.Decoder(dict[str, int]).decode
_decode_gone = msgspec.msgpack.Decoder(dict[str, dict[str, dict[str, int]]]).decode


def read_ledger(storage: Path, run: str | None = None, *, now: int | None = None) -> Ledger:
    """The ledger of one run, by id or by name (the latest of that name), or of all runs under `storage`.

    Raises `LookupError` for a run that is not known, `StoreError` when the store cannot be read, `ValueError` for a position file that
    is none. `now`: Unix ns, the clock's unless given.
    """
    workers = read_workers(storage)
    with Store.open(storage / "store.db", read_only=True) as store:
        # One read transaction: all numbers are of the same commit.
        store.db.execute("BEGIN")
        return _Reader(store.db, workers, storage, time.time_ns() if now is None else now).read(run)


class _Reader:
    def __init__(self, db: sqlite3.Connection, workers: Sequence[WorkerState], storage: Path, now: int) -> None:
        self._db = db
        self._workers = {(worker.backend, worker.run): worker for worker in workers}
        self._storage = storage
        self._now = now

    def read(self, run: str | None) -> Ledger:
        states = {id: _decode_run(state) for id, state in self._db.execute("SELECT run, state FROM runs ORDER BY started, run")}
        chosen = list(states) if run is None else [_find(states, run)]
        rejected = dict(self._db.execute("SELECT reason, records FROM rejections").fetchall())
        latest = [f"{entry}: {reason}" for entry, reason in self._db.execute("SELECT entry, reason FROM rejected ORDER BY id DESC LIMIT 5")]
        return Ledger(runs=[self._run(id, states[id]) for id in chosen], rejected=rejected, rejected_latest=latest)

    def _run(self, id: str, state: RunState) -> RunLedger:
        states = self._states(id)
        producers = list(self._producers(states))
        backends = [self._backend(id, name, producers) for name in state.wanted]
        for upload in read_uploads(self._storage, id):
            _note_upload(upload, backends)
        status = "ending" if state.ending is not None else state.status
        found = RunLedger(
            run=id,
            name=state.name,
            project=state.project,
            attempt=state.attempt,
            status=status,
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
            redacted=state.redacted,
            unheard=list(_unheard(states)),
            hosts=clocks.measure(producer for _, producer in states),
            producers=producers,
            backends=backends,
        )
        judge(found, self._now)
        return found

    def _states(self, run: str) -> list[tuple[str, ProducerState]]:
        rows = self._db.execute("SELECT producer, state FROM producers WHERE run = ? ORDER BY producer", (run,))
        return [(producer, _decode_producer(state)) for producer, state in rows]

    def _producers(self, states: Iterable[tuple[str, ProducerState]]) -> Iterable[ProducerLine]:
        for producer, state in sorted(states, key=lambda each: (each[1].role, each[1].rank or 0, each[0])):
            dropped, lost = self._dropped(producer, state)
            yield ProducerLine(
                producer=producer,
                role=state.role,
                rank=state.rank,
                host=state.host,
                pid=state.pid,
                attempt=state.attempt,
                produced=state.produced,
                received=state.received,
                missing=state.produced - state.received,
                missing_numbers=self._missing(producer, state),
                duplicate=state.duplicates,
                waiting=state.received - totals.of_producer(self._db, producer) - sum(state.set_aside.values()),
                lost=lost,
                dropped=dropped,
                truncated=state.truncated,
                failed_calls=state.failed_calls,
                set_aside=state.set_aside,
                final=state.final,
                abnormal=state.abnormal,
                heard=state.heard,
                open_spans=state.open_spans,
                open_span_count=state.open_span_count,
            )

    def _dropped(self, producer: str, state: ProducerState) -> tuple[dict[str, int], int]:
        """Return records lost by reason, and how many of them had a number."""
        numbered = state.lost
        missing = state.produced - state.received
        if not (state.deleted_upto and missing and self._now - state.deleted_since > SILENT):
            return state.dropped, min(numbered, missing)
        gone = max(0, self._seen(producer, state).lacking(state.deleted_upto) - numbered)
        return {**state.dropped, **({"journal deleted": gone} if gone else {})}, min(numbered + gone, missing)

    def _seen(self, producer: str, state: ProducerState) -> SequenceSet:
        return SequenceSet.load(self._db, producer, first=state.first_page, count=state.received, highest=state.highest)

    def _missing(self, producer: str, state: ProducerState) -> list[tuple[int, int]]:
        if state.received >= state.produced:
            return []
        return self._seen(producer, state).missing(state.produced)

    def _backend(self, run: str, name: str, producers: Iterable[ProducerLine]) -> BackendLine:
        worker = self._workers.get((name, run)) or self._workers.get((name, None))
        now = totals.now(self._db, run)
        waits = why_waiting(self._storage, name, run, self._now / 1e9)
        if worker is None:
            rows = self._rows_after(run, 0, None)
            unknown = why_unknown(name)
            return BackendLine(backend=name, started=False, unknown=unknown, pending=now.total(), pending_rows=rows, waits=waits)
        there = totals.at(self._db, run, worker.position)
        before = self._before(worker, run)
        set_aside, not_taken = self._set_aside(worker, run)
        line = BackendLine(
            backend=name,
            position=worker.position,
            pending=_routed(now - there, worker).total(),
            pending_rows=self._rows_after(run, worker.position, worker),
            waits=waits,
            set_aside=set_aside,
            not_routed=dict(_by_signal((key, n) for key, n in now.items() if key[1] not in worker.signals)),
            left_out={reason: runs[run] for reason, runs in worker.left_out.items() if run in runs},
            before=_routed(before, worker).total(),
        )
        taken = _by_producer(_routed(there - before, worker))
        taken.subtract(not_taken)
        line.delivered = taken.total()
        for producer in producers:
            producer.delivered[name] = taken[producer.producer]
        return line

    def _rows_after(self, run: str, position: int, worker: WorkerState | None) -> int:
        rows = self._db.execute("SELECT signal, count(*) FROM outbox WHERE run = ? AND id > ? GROUP BY signal", (run, position))
        return sum(n for signal, n in rows if worker is None or signal in worker.signals)

    def _before(self, worker: WorkerState, run: str) -> Counter[Key]:
        row = self._db.execute("SELECT totals FROM joined WHERE worker = ?", (worker.name,)).fetchone()
        gone = _decode_gone(row[0]).get(run, {}) if row else {}
        return Counter({(producer, signal): n for producer, signals in gone.items() for signal, n in signals.items()})

    def _set_aside(self, worker: WorkerState, run: str) -> tuple[list[SetAsideLine], Counter[str]]:
        lines: list[SetAsideLine] = []
        counted: Counter[str] = Counter()
        query = "SELECT sources FROM outbox WHERE id = :id AND run = :run UNION ALL SELECT sources FROM kept WHERE id = :id AND run = :run"
        for entry in worker.set_aside:
            if entry.run == run and entry.id <= worker.position:
                row = self._db.execute(query, {"id": entry.id, "run": run}).fetchone()
                sources = _decode_sources(row[0]) if row else {}
                counted.update(sources)
                lines.append(SetAsideLine(entry.what, entry.reason, sum(sources.values())))
        return lines, counted


def _note_upload(upload: Upload, backends: Iterable[BackendLine]) -> None:
    for backend in backends:
        if backend.backend == upload.backend and upload.failed:
            backend.uploads_failed.append(f"{upload.what}: {upload.failed}")
        elif backend.backend == upload.backend:
            backend.uploads += 1


def _find(states: dict[str, RunState], run: str) -> str:
    if run in states:
        return run
    named = [id for id, state in states.items() if state.name == run]
    if not named:
        known = ", ".join(f"{id} ({state.name})" for id, state in list(states.items())[-5:]) or "none"
        raise LookupError(f"no run {run!r} here; known: {known}")
    return named[-1]


def _routed(counts: Counter[Key], worker: WorkerState) -> Counter[Key]:
    return Counter({key: n for key, n in counts.items() if key[1] in worker.signals})


def _by_signal(counts: Iterable[tuple[Key, int]]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (_, signal), n in counts:
        found[signal] += n
    return found


def _by_producer(counts: Counter[Key]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (producer, _), n in counts.items():
        found[producer] += n
    return found


def _unheard(states: Sequence[tuple[str, ProducerState]]) -> Iterable[str]:
    """Ranks missing among producers of one role that know how many they are, in the latest attempt."""
    attempt = max((state.attempt for _, state in states), default=0)
    heard: dict[tuple[str, int], set[int]] = {}
    for _, state in states:
        if state.rank is not None and state.world_size and state.attempt == attempt:
            heard.setdefault((state.role, state.world_size), set()).add(state.rank)
    for (role, size), ranks in sorted(heard.items()):
        yield from (f"{role or 'process'} rank {rank} of {size}" for rank in range(size) if rank not in ranks)
