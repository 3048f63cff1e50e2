"""What each backend of a run was to get, and what of it is delivered, set aside or still to come."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from ..positions import WorkerState, why_waiting
from ..settings import why_unknown
from ..uploads import read_uploads
from . import totals
from .model import BackendLine, ProducerLine, SetAsideLine
from .totals import Key

_decode_sources = msgspec.msgpack.Decoder(dict[str, int]).decode
_decode_gone = msgspec.msgpack.Decoder(dict[str, dict[str, dict[str, int]]]).decode


class BackendLines:
    """Puts the totals of the store together with the positions of `workers`. `now`: Unix ns."""

    def __init__(self, db: sqlite3.Connection, workers: Sequence[WorkerState], storage: Path, now: int) -> None:
        self._db = db
        self._workers = {(worker.backend, worker.run): worker for worker in workers}
        self._storage = storage
        self._now = now

    def of_run(self, run: str, wanted: Iterable[str], producers: Sequence[ProducerLine]) -> list[BackendLine]:
        """Return a line for each wanted backend of a run; what it got of each producer is noted in that one's line."""
        lines = [self._line(run, name, producers) for name in wanted]
        self._note_uploads(run, lines)
        return lines

    def _line(self, run: str, name: str, producers: Iterable[ProducerLine]) -> BackendLine:
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

    def _note_uploads(self, run: str, lines: Iterable[BackendLine]) -> None:
        for upload in read_uploads(self._storage, run):
            for line in lines:
                if line.backend == upload.backend and upload.failed:
                    line.uploads_failed.append(f"{upload.what}: {upload.failed}")
                elif line.backend == upload.backend:
                    line.uploads += 1


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
