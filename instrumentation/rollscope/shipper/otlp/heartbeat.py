"""What the shipper says about a producer: its counters, its clock, the spans it has open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ... import vocabulary as v
from .logs import log_record

_MOST = 200
"""Open spans told in one heartbeat, the oldest first; `rl.producer.open_count` has the whole number."""


class OpenSpan(NamedTuple):
    """A span that began and did not end yet."""

    name: str
    trace_id: bytes
    span_id: bytes
    start: int
    """Unix time, ns."""


def heartbeat(
    now: int,
    last_sequence: int,
    dropped: Mapping[str, int],
    truncated: Mapping[str, int],
    failed: Mapping[str, int],
    open_spans: Sequence[OpenSpan],
    *,
    final: bool = False,
    abnormal: bool = False,
    deleted: int = 0,
) -> bytes:
    """Return the encoded `LogRecord`; `now` is the node's wall clock, Unix time in ns."""
    oldest = sorted(open_spans, key=lambda span: span.start)[:_MOST]
    attributes: dict[str, object] = {
        v.LAST_SEQUENCE: last_sequence,
        v.DROPPED: dict(dropped),
        v.TRUNCATED: dict(truncated),
        v.FAILED_CALLS: dict(failed),
        v.OPEN_SPANS: [_open_span(span, now) for span in oldest],
        v.OPEN_COUNT: len(open_spans),
        v.FINAL: final,
        v.ABNORMAL: abnormal,
        v.DELETED_UPTO: deleted,
    }
    return log_record(v.EVENT_HEARTBEAT, now, attributes)


def _open_span(span: OpenSpan, now: int) -> dict[str, object]:
    return {
        "name": span.name,
        "trace_id": span.trace_id.hex(),
        "span_id": span.span_id.hex(),
        "age": max(0, now - span.start) / 1e9,
    }
