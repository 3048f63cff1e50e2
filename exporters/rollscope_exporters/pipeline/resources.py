"""OTLP resources: who sent a group, and for which run."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rollscope import vocabulary as v

from ..decode import Group
from ..records import Span
from .hosts import SCOPE as HOSTS
from .producers import Producer, Producers
from .runs import Runs

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[str, object]).decode

_CACHED = 4096


class Source:
    """A resource within a run."""

    __slots__ = ("_runs", "attributes", "id", "producer", "run")

    def __init__(self, id: int, run: str, producer: Producer | None, attributes: dict[str, object], runs: Runs) -> None:
        self._runs = runs
        self.id = id
        self.run = run
        self.producer = producer
        """None for a program without rollscope."""
        self.attributes = attributes

    def take(self, number: int) -> bool:
        """Return whether record `number` is new; a record without number (0) always is."""
        return not number or self.producer is None or self.producer.take(number)

    def new(self, spans: Sequence[tuple[int, Span]]) -> Sequence[tuple[int, Span]]:
        """Return those of `spans`, each with its number, that are new."""
        return spans if self.producer is None else self.producer.new(spans)

    @property
    def name(self) -> str:
        """Producer id, empty without one."""
        return self.producer.id if self.producer else ""

    def set_aside(self, number: int, reason: str) -> None:
        """Count a record that came and cannot be used."""
        if number and self.producer:
            self.producer.set_aside(reason)
        else:
            self._runs.set_aside(self.run, reason)

    def repeated(self, root: Span) -> None:
        """Count a trajectory of which another one has the trace id; `root` ended it."""
        self._runs.repeated(self.run, root)

    def counted(self, number: int) -> dict[str, int]:
        """Return what one record with `number` adds to the sources of an outbox row."""
        return {self.name if number else "": 1}


class Sources(Mapping[int, dict[str, object]]):
    """All resources heard of; as a mapping, resource id → attributes."""

    def __init__(self, db: sqlite3.Connection, runs: Runs, producers: Producers) -> None:
        self._db = db
        self._runs = runs
        self._producers = producers
        self._by_key: dict[tuple[bytes, str], Source] = {}
        self._attributes: dict[int, dict[str, object]] = {}
        self._names: dict[int, str] = {}
        self._new: list[Source] = []
        self._digests: dict[int, bytes] = {}
        self._next = 1 + int(db.execute("SELECT coalesce(max(id), 0) FROM resources").fetchone()[0])

    def resolve(self, group: Group, now: int) -> Source:
        """Return the source of `group`; marks its run and producer as heard of."""
        told = any(point.scope != HOSTS for point in group.points)
        news = bool(group.spans or told) or any(log.name != v.EVENT_HEARTBEAT for log in group.logs)
        run = self._runs.of_resource(group.resource, now, news=news)
        source = self._by_key.get((group.key, run)) or self._find(group, run)
        if source.producer:
            source.producer.state.heard = now
        return source

    def _find(self, group: Group, run: str) -> Source:
        if len(self._by_key) >= _CACHED:
            self._by_key.clear()
        id = str(group.resource.get(v.PRODUCER_ID, ""))
        producer = self._producers.get(id, run, group.resource) if id else None
        digest = hashlib.blake2b(group.key + b"\0" + run.encode(), digest_size=16).digest()
        row = self._db.execute("SELECT id FROM resources WHERE digest = ?", (digest,)).fetchone()
        source = Source(row[0] if row else self._next, run, producer, group.resource, self._runs)
        if not row:
            self._next += 1
            self._new.append(source)
            self._digests[source.id] = digest
        self._by_key[group.key, run] = source
        self._attributes[source.id] = group.resource
        return source

    def producer_of(self, id: int) -> str:
        """Return the producer id of a resource, empty for a program without rollscope."""
        name = self._names.get(id)
        if name is None:
            name = self._names[id] = str(self.get(id, {}).get(v.PRODUCER_ID, ""))
        return name

    def forget(self) -> None:
        """Let go of all of them; they are looked up again when needed."""
        self._by_key.clear()
        self._attributes.clear()
        self._names.clear()

    def save(self, db: sqlite3.Connection) -> None:
        """Write those heard of for the first time."""
        rows = [(s.id, self._digests[s.id], s.run, s.name, _encode(s.attributes)) for s in self._new]
        db.executemany("INSERT INTO resources (id, digest, run, producer, attributes) VALUES (?, ?, ?, ?, ?)", rows)
        self._new.clear()
        self._digests.clear()

    def __getitem__(self, id: int) -> dict[str, object]:
        found = self._attributes.get(id)
        if found is None:
            row = self._db.execute("SELECT attributes FROM resources WHERE id = ?", (id,)).fetchone()
            if row is None:
                raise KeyError(id)
            found = self._attributes[id] = _decode(row[0])
        return found

    def __iter__(self) -> Iterator[int]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)
