"""Ids that count, so that a whole record can be compared."""

from __future__ import annotations

from itertools import count

from ..records import SpanId, TraceId

__all__ = ["CountingIds"]


class CountingIds:
    """Trace ids 1, 2, 3 …, span ids 1, 2, 3 …, producer ids 1, 2, 3 …, each in its own series."""

    def __init__(self) -> None:
        self._traces, self._spans, self._producers = count(1), count(1), count(1)
        self.take_trace_id, self.take_span_id = self.trace_id, self.span_id

    def trace_id(self) -> TraceId:
        """Return the next trace id."""
        return TraceId(next(self._traces).to_bytes(16, "big"))

    def span_id(self) -> SpanId:
        """Return the next span id."""
        return SpanId(next(self._spans).to_bytes(8, "big"))

    def producer_id(self) -> str:
        """Return the next producer id."""
        return f"{next(self._producers):016x}"

    def reseed(self) -> None:
        """Count on."""
