"""Kinds of spans, in the words of users: a role in the OpenTelemetry sense, or a GenAI operation that trace viewers recognise."""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

from . import vocabulary as v
from .errors import ConfigurationError, nearest

__all__ = ["Kind", "Shape", "check_kind", "shape"]

Kind = Literal["internal", "server", "client", "producer", "consumer", "tool", "agent", "chat"]

_LONGEST = 32
"""Characters of a wrong kind that are compared with the right ones."""
_ROLES = {"internal": 1, "server": 2, "client": 3, "producer": 4, "consumer": 5}
_OPERATIONS = {
    "tool": (1, v.SPAN_EXECUTE_TOOL, v.GEN_AI_TOOL_NAME),
    "agent": (1, v.SPAN_INVOKE_AGENT, v.GEN_AI_AGENT_NAME),
    "chat": (3, v.SPAN_CHAT, v.GEN_AI_REQUEST_MODEL),
}


class Shape(NamedTuple):
    """What a name and a kind make of a span."""

    name: str
    kind: int
    """OTLP span kind."""
    attributes: dict[str, object]


def check_kind(kind: str | None) -> None:
    """Raise `ConfigurationError` for a kind that is not of `Kind`."""
    if kind is not None and kind not in _ROLES and kind not in _OPERATIONS:
        near = nearest(str(kind)[:_LONGEST], get_args(Kind))
        raise ConfigurationError("unknown kind of span", kind, f"use {near or ', '.join(get_args(Kind))}")


def shape(name: str, kind: str | None) -> Shape:
    """Return span name, OTLP kind and attributes of an operation. Raises `ConfigurationError` for an unknown kind."""
    check_kind(kind)
    if kind in _OPERATIONS:
        otlp, operation, named = _OPERATIONS[kind]
        return Shape(
            f"{operation} {name}" if name else operation, otlp, {v.GEN_AI_OPERATION_NAME: operation, **({named: name} if name else {})}
        )
    return Shape(name, _ROLES[kind or "internal"], {})
