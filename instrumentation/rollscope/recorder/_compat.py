"""The one place that touches private parts of opentelemetry-api (1.43 to 1.x; canary: tests/recorder/test_compat.py).

The public way to make a span current (`set_span_in_context`, `attach`, `detach`) costs 0.5 µs a span, the direct one 0.3 µs. When the
parts are not where they are expected, or another runtime context was configured, the public way is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar, Token
from typing import Any, TypeAlias

from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import Context

__all__ = ["FAST", "activate", "current_any_span", "deactivate", "own_span"]


def _find_parts() -> tuple[ContextVar[Context], str] | None:
    try:
        from opentelemetry.context.contextvars_context import ContextVarsRuntimeContext
        from opentelemetry.trace.propagation import _SPAN_KEY

        runtime = context_api._RUNTIME_CONTEXT
        if type(runtime) is ContextVarsRuntimeContext and isinstance(runtime._current_context, ContextVar):
            return runtime._current_context, _SPAN_KEY
    except (ImportError, AttributeError):
        return None
    return None


_PARTS = _find_parts()
FAST = _PARTS is not None
"""Whether the direct way is in use."""


_OWN_KEY = context_api.create_key("rollscope-span")
"""Beside the current span: the nearest one of ours, which a span of a foreign SDK below it does not hide."""

Ways: TypeAlias = "tuple[Callable[[], Any], Callable[[], Any], Callable[[Any], Any], Callable[[Token[Context]], None]]"


def _public() -> Ways:
    def current() -> Any:
        return trace.get_current_span()

    def own() -> Any:
        return context_api.get_value(_OWN_KEY)

    def enter(span: Any) -> Any:
        span._token = context_api.attach(trace.set_span_in_context(span, context_api.set_value(_OWN_KEY, span)))
        return span

    return current, own, enter, context_api.detach


def _direct(variable: ContextVar[Context], key: str) -> Ways:
    read, write = variable.get, variable.set
    own_key = _OWN_KEY

    def current() -> Any:
        return read().get(key)

    def own() -> Any:
        return read().get(own_key)

    def enter(span: Any) -> Any:
        # What `Context` adds to a dict is that it refuses assignment; making one costs as much as the rest of this.
        values = read().copy()
        values[key] = values[own_key] = span
        span._token = write(values)  # type: ignore[arg-type]
        return span

    return current, own, enter, variable.reset


current_any_span, own_span, activate, deactivate = _public() if _PARTS is None else _direct(*_PARTS)
"""`current_any_span()` returns the current span of whatever make, `own_span()` the nearest of ours, each or None; `activate(span)` makes
one of ours current, keeps in its `_token` what `deactivate` needs, and returns it; `deactivate` raises `ValueError` in another context."""
