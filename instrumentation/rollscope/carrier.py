"""Taking the current place in the run to another process, thread or task.

A carrier is a small dict of strings that fits any header or message: W3C `traceparent`, `tracestate` and `baggage`. The baggage
holds ids only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextvars import Token, copy_context
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import Context

from . import vocabulary as v
from .importing import importing
from .noop import NOOP
from .recorder import Recorder, Span, current, current_span, guarded
from .scope import Scope, or_noop
from .step_point import StepPoint, current_step, enter_step, leave_step
from .trajectory import span_elsewhere

__all__ = ["Attachment", "attach", "carrier", "in_context"]

P = ParamSpec("P")
R = TypeVar("R")

_NUMBERS = frozenset({v.STEP_INDEX, v.EPOCH_INDEX, v.POLICY_VERSION, v.TRAJECTORY_INDEX, v.TRAJECTORY_ATTEMPT, v.TURN_INDEX})
_NAMES = frozenset({v.SPLIT_NAME, v.GROUP_ID, v.TRAJECTORY_ID})


def carrier(of: Scope | Span | None = None) -> dict[str, str]:
    """Return the current place, or that of a trajectory, turn, span or other scope; `attach` takes it elsewhere. Empty without a run."""
    return _carrier(of) or {}


@guarded("carrier")
def _carrier(of: Scope | Span | None) -> dict[str, str]:
    if current() is None:
        return {}
    with importing:
        from .propagation import inject

    context = context_api.get_current()
    span = of.span if isinstance(of, Scope) else of
    if span is None:
        span = current_span()
    else:
        context = trace.set_span_in_context(span, context)
    return inject(_entries(span), context)


def _entries(span: Span | None) -> dict[str, str]:
    identity = (None if span is None else span.identity) or {}
    entries = {name: str(value) for name, value in identity.items() if name in _NUMBERS or name in _NAMES}
    step = current_step()
    if step is not None:
        entries.setdefault(v.STEP_INDEX, str(step.index))
        if step.policy_version is not None:
            entries.setdefault(v.POLICY_VERSION, str(step.policy_version))
        if step.trace_id is not None and step.span_id is not None:
            entries[v.STEP_SPAN] = f"{step.trace_id.hex()}-{step.span_id.hex()}"
    return entries


@or_noop("attach")
def attach(place: Mapping[str, str] | Scope | Span) -> Attachment:
    """Go on elsewhere: use it in `with` or `async with`.

    place: what `carrier` returned in another process, or a trajectory, turn or span of this one, made current in this thread or
    task without being ended on the way out. In another process, spans join the same trace with the same identity, `reward` and
    `facts` find the trajectory, and new trajectories belong to the same step.
    """
    recorder = current()
    if recorder is None:
        return NOOP  # type: ignore[no-any-return]
    if isinstance(place, (Scope, Span)):
        return Attachment(_around(place.span if isinstance(place, Scope) else place), None)
    return _from_carrier(recorder, {name.lower(): value for name, value in place.items()})


def _from_carrier(recorder: Recorder, place: Mapping[str, str]) -> Attachment:
    with importing:
        from .propagation import extract, without

    context, entries = extract(place, context_api.get_current())
    identity: dict[str, Any] = {}
    for name, value in entries.items():
        if name in _NUMBERS and str(value).lstrip("-").isdecimal():
            identity[name] = int(str(value))
        elif name in _NAMES:
            identity[name] = str(value)
    step = _step_of(identity, str(entries.get(v.STEP_SPAN) or ""))
    context = without((*identity, v.STEP_SPAN), context)
    above = trace.get_current_span(context).get_span_context()
    if above.is_valid:
        context = _around(span_elsewhere(recorder, above, identity), context)
    return Attachment(context, step)


def _around(span: Span, context: Context | None = None) -> Context:
    """Return `context`, or the current one, with `span` as the current span."""
    token = None if context is None else context_api.attach(context)
    span.enter()
    found = context_api.get_current()
    span.leave()
    if token is not None:
        context_api.detach(token)
    return found


def _step_of(identity: Mapping[str, Any], span: str) -> StepPoint | None:
    if v.STEP_INDEX not in identity:
        return None
    trace_id, _, span_id = span.partition("-")
    ids = (bytes.fromhex(trace_id), bytes.fromhex(span_id)) if len(trace_id) == 32 and len(span_id) == 16 else (None, None)
    return StepPoint(identity[v.STEP_INDEX], *ids, policy_version=identity.get(v.POLICY_VERSION))


class Attachment:
    """A place that is current inside `with`."""

    __slots__ = ("_context", "_step", "_tokens")

    def __init__(self, context: Context, step: StepPoint | None) -> None:
        self._context = context
        self._step = step
        self._tokens: list[tuple[Any, Token[StepPoint | None] | None]] = []

    def __enter__(self) -> Attachment:
        self._tokens.append((context_api.attach(self._context), None if self._step is None else enter_step(self._step)))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        token, step = self._tokens.pop()
        if step is not None:
            leave_step(step)
        context_api.detach(token)

    async def __aenter__(self) -> Attachment:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.__exit__(kind, error, trace)


def in_context(function: Callable[P, R]) -> Callable[P, R]:
    """Return `function` bound to the current context, for threads that get none: `pool.submit(rs.in_context(work), item)`.

    Every call runs in a copy, so one bound function may run in many threads at once.
    """
    context = copy_context()

    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        return context.copy().run(function, *args, **kwargs)

    return run
