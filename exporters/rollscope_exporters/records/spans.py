"""Spans and log lines, as any OpenTelemetry program writes them."""

# ruff: noqa: RUF012 - every record has its own copy of an empty default; ruff does not see the Struct behind `Plain`
from __future__ import annotations

from typing import ClassVar

from rollscope import vocabulary as v

from ._base import Plain


class Span(Plain, tag="span", kw_only=True, frozen=True):
    """One finished span with everything it carried."""

    trace_id: str
    span_id: str
    parent_id: str | None = None
    name: str
    kind: int = 1
    start: int
    end: int
    status: int = 0
    """0 unset, 1 ok, 2 error."""
    message: str = ""
    attributes: dict[str, object] = {}
    events: list[tuple[int, str, dict[str, object]]] = []
    links: list[tuple[str, str, dict[str, object]]] = []
    """Trace id, span id, attributes."""
    resource: dict[str, object] = {}
    """Resource attributes; within a trajectory or trace, empty where they are those of the first span."""
    scope: str = ""

    @property
    def failed(self) -> bool:
        """Whether its status is an error."""
        return self.status == v.STATUS_ERROR

    @property
    def is_tool_call(self) -> bool:
        """Whether it is the call of a tool."""
        return self.attributes.get(v.GEN_AI_OPERATION_NAME) == v.SPAN_EXECUTE_TOOL


class Trace(Plain, tag="trace", kw_only=True, frozen=True):
    """Spans of a trace that is no trajectory (a step, a foreign program), or late ones of any trace."""

    signal: ClassVar[str] = "traces"
    run: str
    trace_id: str
    spans: list[Span]
    late: bool = False
    """The trace was delivered before; these spans came after."""


class LogLine(Plain, tag="log", kw_only=True, frozen=True):
    """A log line or a user's event."""

    signal: ClassVar[str] = "logs"
    run: str
    time: int
    severity: int = 9
    body: str = ""
    name: str = ""
    trace_id: str = ""
    span_id: str = ""
    attributes: dict[str, object] = {}
    producer: str = ""
