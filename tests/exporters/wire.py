"""Processes that record, and what of it travels: the real recorder and the real encoder, without journal and network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from rollscope import vocabulary as v
from rollscope.identity import Run
from rollscope.ids import Ids
from rollscope.launchers import Place
from rollscope.records import decode
from rollscope.shipper.otlp import Encoder, Item, OpenSpan, assemble
from rollscope.testing import Memory, memory_recorder
from rollscope.tokens import Decoded, Undecoded

Request = tuple[str, bytes]
"""Signal, encoded export request."""

NOW = 1_767_225_600_000_000_000


class NoTexts:
    """A shipper that has no tokenizer."""

    def decode(self, tokenizer: str | None, lead: list[int], ids: list[int]) -> Decoded | Undecoded:
        """Say why not."""
        return Undecoded("no tokenizer")


class Process:
    """One recording process of a run and its shipper."""

    def __init__(self, memory: Memory, producer: str, **resource: object) -> None:
        self.memory = memory
        self.producer = producer
        self.resource = {**memory.recorder.identity.resource(), v.PRODUCER_ID: producer, **resource}
        self._encoder = Encoder(self.resource, NoTexts())
        self._sent = 0

    def items(self) -> list[Item]:
        """What was recorded since the last call, encoded, in order."""
        entries = self.memory.journal.entries[self._sent :]
        self._sent = len(self.memory.journal.entries)
        return [item for _, number, payload in entries if number for item in self._encoder.encode(decode(payload), number)]

    def heartbeat(
        self,
        *,
        final: bool = False,
        abnormal: bool = False,
        now: int = NOW,
        spans: Sequence[OpenSpan] = (),
        failed: Mapping[str, int] | None = None,
        deleted_upto: int = 0,
        **dropped: int,
    ) -> Item:
        """What the shipper says about it now; `dropped` are records by reason, `failed` calls."""
        last = self.memory.journal.last_sequence
        told = (now, last, dropped, {}, failed or {}, list(spans))
        return self._encoder.heartbeat(*told, final=final, abnormal=abnormal, deleted=deleted_upto)


@contextmanager
def process(
    producer: str = "00000000000000aa", *, run: str = "run-1", attempt: int = 0, place: Place | None = None, ids: Ids | None = None
) -> Iterator[Process]:
    """A recording process; calls of `rollscope` inside `with` are its own. Where no two span ids may be equal it needs `ids`."""
    about = Run(run, "experiment", "project", attempt)
    with memory_recorder(run=about, place=place, ids=ids) as memory:
        yield Process(memory, producer)


def requests(items: Iterable[Item], size: int = 1000) -> list[Request]:
    """Requests of up to `size` records, one signal each, in the order of the first record of each."""
    found: list[Request] = []
    batch: list[Item] = []
    for item in items:
        if batch and (item.signal != batch[0].signal or len(batch) >= size):
            found.append((batch[0].signal, assemble(batch)))
            batch = []
        batch.append(item)
    return [*found, (batch[0].signal, assemble(batch))] if batch else found


def singly(items: Sequence[Item]) -> list[Request]:
    """One request a record."""
    return [(item.signal, assemble([item])) for item in items]
