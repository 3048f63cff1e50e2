"""What a request comes to: one `Group` per OTLP resource in it."""

from __future__ import annotations

import msgspec

from ..records import Span


class UndecodableError(Exception):
    """When bytes are not the OTLP request they are said to be."""


class Log(msgspec.Struct, gc=False):
    """One OTLP log record; an event when it has a name."""

    name: str
    """Event name, empty for a plain log line."""
    time: int
    """Unix time, ns; the time observed where the program gave none."""
    severity: int
    body: str
    """Text; a structured body as JSON."""
    trace_id: str
    span_id: str
    attributes: dict[str, object]
    scope: str
    sequence: int
    """`rl.producer.sequence`, 0 for a record without number."""


class Point(msgspec.Struct, gc=False):
    """One data point of a metric, reduced to numbers."""

    name: str
    time: int
    """Unix time, ns."""
    attributes: dict[str, object]
    values: dict[str, int | float]
    """Suffix → number: `""` for gauges and sums; `count`, `sum`, `min`, `max`, `avg` for histograms; `p99` and the like for summaries."""
    scope: str = ""
    """Name of the instrumentation scope."""


class Group(msgspec.Struct):
    """Everything one request holds of one resource, in the order of the request."""

    key: bytes
    """The resource as encoded: equal bytes, equal resource."""
    resource: dict[str, object]
    spans: list[tuple[int, Span]] = []
    """With the number of each, 0 for a span without one. `Span.resource` is left empty: it is this group's."""
    logs: list[Log] = []
    points: list[Point] = []
    numbers: list[int] = []
    """Numbers of the metric records in `points`."""
    repaired: dict[str, int] = {}
    """Reason → items that were changed so that they make sense."""
    invalid: dict[str, int] = {}
    """Reason → items that cannot be used."""

    def repair(self, reason: str) -> None:
        """Count one changed item."""
        self.repaired[reason] = self.repaired.get(reason, 0) + 1

    def reject(self, reason: str) -> None:
        """Count one unusable item."""
        self.invalid[reason] = self.invalid.get(reason, 0) + 1
