"""Writing logs as a recorder does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec

from rollscope import vocabulary as v
from rollscope.checksum import checksum
from rollscope.journal import Journal, Place
from rollscope.records import SPAN_PARTS, Event, SpanEnd, SpanStart, Tokens

encode = msgspec.msgpack.Encoder().encode
_places: dict[bytes, Place | None] = {}
NOW = 1_800_000_000_000_000_000
RUN = "run-1"


def resource(producer: str) -> dict[str, object]:
    """OTLP resource of a producer."""
    return {"service.name": "test", "rl.run.id": RUN, "rl.producer.id": producer}


def open_log(directory: Path, producer: str = "aaaaaaaaaaaaaaaa", **options: Any) -> Journal:
    """A log under the node folder `directory`."""
    meta = {"producer": producer, "resource": resource(producer)}
    return Journal(directory / "producers" / producer, **{"meta": meta, **options})


def _ids() -> dict[str, Any]:
    return {"trace_id": os.urandom(16), "span_id": os.urandom(8), "parent_id": None, "kind": 1, "start": NOW}


def span_end(name: str = "chat m", **changes: Any) -> SpanEnd:
    """A finished span of a trace of its own."""
    return SpanEnd(**{**_ids(), "name": name, "end": NOW + 10, "status": 0, "message": None, "attributes": {}, **changes})


def span_start(name: str = "rollout", **changes: Any) -> SpanStart:
    """A span that began."""
    return SpanStart(**{**_ids(), "name": name, "attributes": {}, **changes})


def step_metrics(step: int, values: dict[str, object], time: int = NOW) -> Event:
    """Scalars of a step."""
    return Event(v.EVENT_STEP_METRICS, time, {v.STEP_INDEX: step, v.METRICS: values})


def tokens(ids: list[int] | bytes, **changes: Any) -> Tokens:
    """A token segment."""
    fields: dict[str, Any] = {"trace_id": b"t" * 16, "span_id": b"s" * 8, "time": NOW, "role": "output", "kept": 0, "lead": [], "ids": ids}
    return Tokens(**{**fields, **changes})


def write(journal: Journal, *records: Any) -> None:
    """Append records in the lanes a recorder uses. A `SpanStart` is held until its `SpanEnd` comes."""
    for record in records:
        if isinstance(record, SpanStart):
            head = SPAN_PARTS + encode(record)
            _places[record.span_id] = journal.hold(head, checksum(head))
            continue
        lane = 2 if isinstance(record, Tokens) else 0 if isinstance(record, Event) and record.name.startswith(("rl.step", "rl.run")) else 1
        over = _places.pop(record.span_id, None) if isinstance(record, SpanEnd) else None
        assert journal.append(encode(record), lane, over) > 0
