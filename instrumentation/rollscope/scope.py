"""What step, phase, trajectory, turn, generation and tool call have in common: a span, current inside `with` and `async with`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from . import vocabulary as v
from .noop import NOOP
from .recorder import Recorder, Span, guarded, swallow

__all__ = ["Scope", "or_noop"]

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound="Scope")


def or_noop(reason: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function of ours that makes an object: an error is counted under `reason` and the object that does nothing returned."""

    def decorate(make: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(make)
        def run(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return make(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # the gate of this call
                swallow(error, reason)
                return NOOP  # type: ignore[no-any-return]

        return run

    return decorate


class Scope:
    """A piece of work. It begins when it is made; `with` makes it current and ends it, `end` does the latter alone."""

    __slots__ = ("_recorder", "span")

    def __init__(self, recorder: Recorder, span: Span) -> None:
        self._recorder = recorder
        self.span = span
        """The OpenTelemetry span."""

    @guarded("set")
    def set(self, attributes: Mapping[str, object] | None = None, /, **named: object) -> None:
        """Set attributes of the span, given as a map or by name."""
        if attributes is not None:
            self.span.set_attributes(attributes)
        if named:
            self.span.set_attributes(named)

    @guarded("event")
    def event(self, name: str, attributes: Mapping[str, object] | None = None, /, **named: object) -> None:
        """Record that something happened here, at once and for good."""
        record_event(self._recorder, self.span, name, attributes, named)

    def end(self, error: BaseException | None = None) -> None:
        """End it, if it is open; `error` is what ended it early: a cancellation is marked, anything else is an error."""
        span = self.span
        if not span.is_recording():
            return
        try:
            if error is not None:
                span.fail(error)
            self._finish(error)
        except Exception as failure:  # noqa: BLE001  # the gate of this call
            swallow(failure, "end")
        span.end()
        self._ended()

    def _finish(self, error: BaseException | None) -> None:
        """Set what is known only now."""

    def _ended(self) -> None:
        """Do what comes after the span was written."""

    def __enter__(self: S) -> S:
        self.span.enter()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.span.leave()
        self.end(error)

    async def __aenter__(self: S) -> S:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.span!r}>"


def record_event(
    recorder: Recorder, span: Span | None, name: str, attributes: Mapping[str, object] | None, named: Mapping[str, object]
) -> None:
    """Record an event of the user's own; on a span it carries the span's ids and identity."""
    values: dict[str, Any] = {**(attributes or {}), **named}
    if span is None:
        recorder.event(v.EVENT_NOTE, values, body=name)
    else:
        values.update(span.identity or {})
        recorder.event(v.EVENT_NOTE, values, body=name, trace_id=span.trace_id, span_id=span.span_id)
