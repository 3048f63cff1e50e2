"""Spans of the user's own, and what acts on whichever span is current."""

from __future__ import annotations

from collections.abc import Mapping

from .kinds import Kind, shape
from .noop import NOOP
from .recorder import Recorder, Span, current, current_span, guarded
from .scope import or_noop, record_event

__all__ = ["event", "set_", "span"]


def span(name: str, attributes: Mapping[str, object] | None = None, kind: Kind | None = None) -> Span:
    """Start an OpenTelemetry span under the current one. Use it in `with` or `async with`, or call its `end`.

    kind: a role (`internal`, `server`, `client`, `producer`, `consumer`), or `tool`, `agent`, `chat` for what trace viewers show as such.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    # `start_span` has a gate of its own; a second one around it costs as much as all the look-ups in it.
    return recorder.start_span(name, 1, attributes) if kind is None else _shaped(recorder, name, attributes, kind)


@or_noop("span")
def _shaped(recorder: Recorder, name: str, attributes: Mapping[str, object] | None, kind: Kind) -> Span:
    made = shape(name, kind)
    return recorder.start_span(made.name, kind=made.kind, attributes={**made.attributes, **(attributes or {})})


@guarded("event")
def event(name: str, attributes: Mapping[str, object] | None = None, /, **named: object) -> None:
    """Record that something happened, at once and for good; it carries the ids and the identity of the current span."""
    recorder = current()
    if recorder is None:
        return
    record_event(recorder, current_span(), name, attributes, named)


@guarded("set")
def set_(attributes: Mapping[str, object] | None = None, /, **named: object) -> None:
    """Set attributes of the current span, given as a map or by name. Without a current span of ours nothing happens."""
    if current() is None:
        return
    here = current_span()
    if here is not None:
        here.set_attributes({**(attributes or {}), **named})
