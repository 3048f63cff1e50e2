"""A pipeline on a store of its own, fed by hand, with a hand-moved clock."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from rollscope_exporters import records
from rollscope_exporters.beats import PIPELINE_BEAT, BeatFile
from rollscope_exporters.child import After
from rollscope_exporters.ledger import Ledger, read_ledger
from rollscope_exporters.pipeline import Pipeline, PipelineSettings
from rollscope_exporters.pipeline.loop import Loop
from rollscope_exporters.pipeline.trial import Trial
from rollscope_exporters.records import Record
from rollscope_exporters.store import OutboxRow, Store

from .wire import NOW, Request

SECOND = 1_000_000_000
R = TypeVar("R")


class Bridge:
    """What `python -m rollscope_exporters.pipeline` does, a step at a time."""

    def __init__(self, storage: Path, settings: PipelineSettings | None = None, backends: Iterable[str] = ("jsonl",)) -> None:
        self.storage = storage
        self.now = NOW
        self.settings = settings or PipelineSettings()
        self.backends = list(backends)
        self.open()

    def open(self) -> None:
        """Begin from the store, as a new process does."""
        self.store = Store.open(self.storage / "store.db")
        self.pipeline = Pipeline(self.store, self.settings, lambda requested: self.backends, self.now)

    def loop(self, *, after: After | None = None) -> Loop:
        """The loop of a real process, over the same store, to be driven a turn at a time."""
        return Loop(
            self.storage,
            self.store,
            self.settings,
            lambda requested: self.backends,
            trial=Trial(self.storage, after),
            beat=BeatFile(self.storage / PIPELINE_BEAT, os.getpid()),
            clock=lambda: self.now,
        )

    def restart(self) -> None:
        """Lose all memory."""
        self.store.close()
        self.open()

    def take(self, requests: Iterable[Request], seconds: float = 0.0) -> None:
        """Take requests in one commit, `seconds` after the last one."""
        self.now += int(seconds * SECOND)
        with self.pipeline.commit(lambda: self.now, self.now):
            for signal, payload in requests:
                self.pipeline.take(signal, payload, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.take([], seconds)

    def rows(self) -> list[OutboxRow]:
        """All rows of the outbox."""
        return self.store.rows(0, signals=records.SIGNALS, limit=100_000, max_bytes=1 << 40)

    def records(self) -> list[Record]:
        """All records of the outbox, oldest first."""
        return [records.decode(row.payload) for row in self.rows()]

    def of(self, kind: type[R]) -> list[R]:
        """The records of one kind."""
        return [record for record in self.records() if isinstance(record, kind)]

    def sources(self) -> dict[str, int]:
        """Numbered records in the outbox by producer."""
        found: dict[str, int] = {}
        for row in self.rows():
            for producer, n in row.sources.items():
                found[producer] = found.get(producer, 0) + n
        return found

    def deliver(self, backend: str = "jsonl", upto: int | None = None, **more: object) -> None:
        """Write the position file of a worker that has taken everything up to `upto`."""
        folder = self.storage / "backends" / backend
        folder.mkdir(parents=True, exist_ok=True)
        position = {"position": self.store.head() if upto is None else upto, "state": {}, **more}
        (folder / "position.json").write_bytes(msgspec.json.encode(position))

    def ledger(self, run: str | None = None) -> Ledger:
        """The ledger as it stands."""
        return read_ledger(self.storage, run, now=self.now)
