"""OpenTelemetry's `TracerProvider` and `Tracer` over the journal."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import INVALID_SPAN, NonRecordingSpan, SpanKind

from . import gate, session
from .span import Span

__all__ = ["Tracer", "TracerProvider", "get_tracer"]

_SCOPE_LENGTH = 256
F = TypeVar("F", bound=Callable[..., Any])


class TracerProvider(trace.TracerProvider):
    """Gives tracers that record into the run of the process, and nothing while there is none."""

    def get_tracer(
        self,
        instrumenting_module_name: str,
        instrumenting_library_version: str | None = None,
        schema_url: str | None = None,
        attributes: Mapping[str, Any] | None = None,
    ) -> trace.Tracer:
        """Return a tracer whose spans carry `instrumenting_module_name` as their scope."""
        return Tracer(instrumenting_module_name)


class Tracer(trace.Tracer):
    """Makes spans of one instrumentation scope. A parent that was not sampled elsewhere is recorded here all the same."""

    def __init__(self, scope: str) -> None:
        self._scope = scope[:_SCOPE_LENGTH] if isinstance(scope, str) else ""

    def start_span(
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, Any] | None = None,
        links: Sequence[trace.Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
    ) -> trace.Span:
        """Start a span under the one in `context`, or the current one."""
        try:
            recorder = session.current()
            if recorder is None:
                return NonRecordingSpan(trace.get_current_span(context).get_span_context())
            parent = None if context is None else trace.get_current_span(context)
            return recorder.start_span(name, kind.value + 1, attributes, parent, False, None, links, self._scope, start=start_time)
        except Exception as error:  # noqa: BLE001  # a kind that is none, a foreign context that raises when it is read
            gate.swallow(error, "span")
            return INVALID_SPAN

    def start_as_current_span(  # type: ignore[override]  # the API's return type is private; this one does the same
        self,
        name: str,
        context: Context | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
        attributes: Mapping[str, Any] | None = None,
        links: Sequence[trace.Link] | None = None,
        start_time: int | None = None,
        record_exception: bool = True,
        set_status_on_exception: bool = True,
        end_on_exit: bool = True,
    ) -> CurrentSpan:
        """Return a context manager, also a decorator of functions and coroutine functions, around a new current span."""
        arguments = (name, context, kind, attributes, links, start_time)
        return CurrentSpan(self, arguments, record_exception, set_status_on_exception, end_on_exit)


class CurrentSpan:
    """A span that is current inside `with`. Each entry, and each call of a decorated function, starts a new span."""

    __slots__ = ("_arguments", "_entered", "_options", "_tracer")

    def __init__(self, tracer: Tracer, arguments: tuple[Any, ...], record_exception: bool, set_status: bool, end_on_exit: bool) -> None:
        self._tracer = tracer
        self._arguments = arguments
        self._options = (record_exception, set_status, end_on_exit)
        self._entered: list[tuple[trace.Span, Any]] = []

    def __enter__(self) -> trace.Span:
        span = self._tracer.start_span(*self._arguments)
        scope = None
        if isinstance(span, Span):
            span.enter()
        else:
            scope = trace.use_span(span)
            scope.__enter__()
        self._entered.append((span, scope))
        return span

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace_: TracebackType | None) -> None:
        span, scope = self._entered.pop()
        if scope is not None:
            scope.__exit__(None, None, None)
        if isinstance(span, Span):
            record_exception, set_status, end_on_exit = self._options
            span.leave()
            if error is not None:
                span.fail(error, record=record_exception, status=set_status)
            if end_on_exit:
                span.end()

    def __call__(self, function: F) -> F:
        again = functools.partial(CurrentSpan, self._tracer, self._arguments, *self._options)
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def run_coroutine(*args: Any, **kwargs: Any) -> Any:
                with again():
                    return await function(*args, **kwargs)

            return run_coroutine  # type: ignore[return-value]

        @functools.wraps(function)
        def run(*args: Any, **kwargs: Any) -> Any:
            with again():
                return function(*args, **kwargs)

        return run  # type: ignore[return-value]


def get_tracer(name: str = "rollscope") -> trace.Tracer:
    """Return an OpenTelemetry tracer that records into the run of this process."""
    return Tracer(name)
