"""A span of the OpenTelemetry API whose start and end are records of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.trace import SpanContext, StatusCode, TraceFlags

from .. import vocabulary as v
from ..checksum import checksum
from ..interruption import pass_on
from ..records import decode_start
from ._compat import activate, current_any_span, deactivate, own_span
from .changes import Changes
from .encoding import REFUSED, encode
from .failures import is_cancellation, message_of, stack_of, type_name
from .gate import guarded, report, swallow
from .links import link_of
from .protocols import Writer
from .sanitise import SCALARS

__all__ = ["Span", "current_span", "is_cancellation"]

Identity = Mapping[str, object]
_FEW = 64
"""Elements of a list that are looked at one by one before it is copied."""
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)


class Span(trace.Span):
    """One operation. `with span:` makes it current and ends it; an exception is recorded, a cancellation marked, both go on.

    Its record begins with what was known when it began, encoded then; the journal holds that until the span ends and
    the rest joins it. `identity` (step, group, trajectory, turn …) comes from the parent, is never changed, and goes before attributes of
    the same name. `trajectory` is whatever object the enclosing trajectory put there; children inherit it.
    """

    __slots__ = (
        "_changes", "_check", "_context", "_epoch", "_first", "_head", "_open", "_place", "_recorder", "_room", "_tick",
        "_token", "identity", "name", "span_id", "start", "tally", "trace_id", "trajectory",
    )  # fmt: skip

    _first: frozenset[str]
    """Names of the attributes it began with, where they were looked for."""

    def __init__(
        self,
        recorder: Writer,
        name: str,
        trace_id: bytes,
        span_id: bytes,
        start: int,
        tick: int,
        identity: Identity | None = None,
        trajectory: Any = None,
        tally: Iterator[int] | None = None,
        head: bytes = b"",
        room: int = 0,
    ) -> None:
        """Record that a span began; without a `head` it is one that is never recorded. `room`: attributes that may still be added."""
        self._recorder = recorder
        self._epoch = recorder.epoch
        self._tick = tick
        self._room = room
        self._token: Any = None
        self._context: SpanContext | None = None
        self._changes: Changes | None = None
        self.name = name
        self.trace_id = trace_id
        self.span_id = span_id
        self.start = start
        self.identity = identity
        self.trajectory = trajectory
        self.tally = tally
        self._head = head
        self._open = False
        if head:
            self._check = check = checksum(head)
            self._place = recorder.hold(head, check)
            self._open = True

    # -- recording ------------------------------------------------------------------------------------------------

    def set_attribute(self, key: str, value: Any) -> None:
        """Set one attribute. A list or map is copied, so that later changes of it are not recorded."""
        if not self._open:
            return
        try:
            attributes = self._changed().attributes
            if len(attributes) >= self._room and self._is_full(key):
                self.drop(1)
            elif type(value) in SCALARS and key in self._recorder.known:
                attributes[key] = value
            elif type(value) is list and len(value) <= _FEW and SCALARS.issuperset(map(type, value)) and key in self._recorder.known:
                attributes[key] = value.copy()
            else:
                self._set_other(key, value)
        except Exception as error:  # noqa: BLE001  # a foreign name or value may raise anything when it is looked at
            swallow(error, "attribute")

    def _set_other(self, key: Any, value: Any) -> None:
        clean = self._recorder.sanitiser()
        attributes = self._changed().attributes
        attributes.update(self._recorder.named({key: clean.value(value)}))
        if clean.lossy:
            attributes[v.ATTRIBUTES_DROPPED] = True

    def _is_full(self, key: str) -> bool:
        """Return whether `key` would be one attribute too many, once there are as many new ones as there was room for."""
        try:
            first = self._first
        except AttributeError:  # read back once, as a program that sets one too many sets many; and set by no span that has room
            first = self._first = frozenset(decode_start(self._head).attributes)
        names = first.union(self._changed().attributes).difference(self.identity or ())
        return len(names) >= self._recorder.limits.attributes and key not in names

    def drop(self, count: int) -> None:
        """Note that attributes were left out."""
        self._changed().dropped += count
        report("truncated", "many_attributes", f"a span has more than {self._recorder.limits.attributes} attributes")

    @guarded("attribute")
    def set_attributes(self, attributes: Mapping[str, Any]) -> None:
        """Set several attributes."""
        if not self._open or not attributes:
            return
        known = self._changed().attributes
        # The usual case at once: known names, plain values, room for all.
        if (
            len(known) + len(attributes) <= self._room
            and self._recorder.known.issuperset(attributes)
            and SCALARS.issuperset(map(type, attributes.values()))
        ):
            known.update(attributes)
            return
        for key, value in attributes.items():
            self.set_attribute(key, value)

    @guarded("span_event")
    def add_event(self, name: str, attributes: Mapping[str, Any] | None = None, timestamp: int | None = None) -> None:
        """Add an event at `timestamp` (Unix ns) or now."""
        if not self._open:
            return
        changes = self._changed()
        events = changes.events
        if events is None:
            events = changes.events = []
        if len(events) >= self._recorder.limits.events:
            report("truncated", "many_events", f"a span has more than {len(events)} events")
            return
        when = timestamp if isinstance(timestamp, int) else self._now()
        if type(name) is not str:
            name = self._recorder.sanitiser().name(name)
        events.append((when, name, self._recorder.named(attributes) if attributes else {}))

    @guarded("link")
    def add_link(self, context: SpanContext, attributes: Mapping[str, Any] | None = None) -> None:
        """Link to another span."""
        if not self._open or not context.is_valid:
            return
        changes, most = self._changed(), self._recorder.limits.links
        added = changes.links or []
        if len(added) + len(decode_start(self._head).links or ()) >= most:
            report("truncated", "many_links", f"a span has more than {most} links")
            return
        changes.links = [*added, link_of(context, attributes)]

    @guarded("name")
    def update_name(self, name: str) -> None:
        """Give the span another name."""
        if self._open:
            self.name = self._changed().name = self._recorder.sanitiser().name(name)

    @guarded("status")
    def set_status(self, status: trace.Status | StatusCode, description: str | None = None) -> None:
        """Set the status. Ok is final and unset is ignored, as the specification has it; only an error has a description."""
        code, text = (status.status_code, status.description) if isinstance(status, trace.Status) else (status, description)
        if not self._open or self.status == StatusCode.OK.value or code is StatusCode.UNSET:
            return
        changes = self._changed()
        changes.status = code.value
        changes.message = text if code is StatusCode.ERROR and isinstance(text, str) else None

    def record_exception(
        self,
        exception: BaseException,
        attributes: Mapping[str, Any] | None = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        """Add the exception as an event; its stack trace is cut to its innermost part."""
        if not self._open:
            return
        try:
            recorded = {
                v.EXCEPTION_TYPE: type_name(type(exception)),
                v.EXCEPTION_MESSAGE: message_of(exception),
                v.EXCEPTION_STACKTRACE: stack_of(exception, self._recorder.limits.stack_length),
                **(attributes or {}),
            }
            self.add_event("exception", recorded, timestamp)
        except Exception as error:  # noqa: BLE001  # a foreign exception may raise when it is printed
            swallow(error, "exception")

    # -- end ------------------------------------------------------------------------------------------------------

    def end(self, end_time: int | None = None) -> None:
        """Write the span. Only the first call counts; a span that a parent process started is left to it after fork."""
        if not self._open:
            return
        self._open = False
        recorder = self._recorder
        if self._epoch != recorder.epoch:
            return
        end = self.start + recorder.tick() - self._tick
        if end_time is not None and isinstance(end_time, int):
            end = max(end_time, self.start)
        try:
            changes = self._changes
            rest = encode(end if changes is None else changes.rest(end, self.identity))
            payload = self._head + rest
            # What it began with was cleaned and bounded then.
            if changes is None or (len(rest) <= recorder.look_above and len(payload) <= recorder.limits.record_bytes):
                number = recorder.append(payload, 1, self._place, checksum(rest, self._check))
            else:
                number = self._end_whole(end)
        except REFUSED as error:
            pass_on(error)
            number = self._end_whole(end)
        except Exception as error:  # noqa: BLE001  # the gate of this call
            # Its place stays taken: nobody knows whether the record came to be.
            swallow(error, "record", "dropped")
            return
        if number > 0 and self.tally is not None:
            next(self.tally)

    def _end_whole(self, end: int) -> int:
        """Write a span that the quick way refused, or that is large."""
        try:
            row = (self._changes or Changes()).whole(self._head, end, self.identity)
            return self._recorder.write(row, 1, self._place)
        except Exception as error:  # noqa: BLE001  # the gate of this call
            swallow(error, "span")
            return -1

    def fail(self, error: BaseException, *, record: bool = True, status: bool = True) -> None:
        """Record what ended the work: cancelled where it was cancelled, else an error. A status set before stays.

        record: add the exception as an event. status: set the status.
        """
        try:
            if isinstance(error, GeneratorExit):
                return
            if is_cancellation(error):
                self.set_attribute(v.CANCELLED, True)
                return
            self.set_attribute(v.ERROR_TYPE, type_name(type(error)))
            if record and isinstance(error, Exception):
                self.record_exception(error)
            if status and self.status == 0:
                self.set_error(f"{type(error).__name__}: {message_of(error)}")
        except Exception as failure:  # noqa: BLE001  # a foreign exception may raise when its class is looked at
            swallow(failure, "exception")

    def set_error(self, message: str) -> None:
        """Set the status to error, whatever it was."""
        changes = self._changed()
        changes.status, changes.message = v.STATUS_ERROR, message

    # Not a method that calls it: `activate` is a function of a span, and a call costs as much as what it does.
    __enter__: ClassVar[Callable[[Span], Span]] = activate

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace_: TracebackType | None) -> None:
        # `leave` written out: a call costs as much as the rest of it.
        token = self._token
        if token is not None:
            self._token = None
            try:
                deactivate(token)
            except (ValueError, RuntimeError) as failure:
                pass_on(failure)
                _left_elsewhere()
        if error is not None:
            self.fail(error)
        self.end()

    async def __aenter__(self) -> Span:
        return self.__enter__()

    async def __aexit__(self, kind: type[BaseException] | None, error: BaseException | None, trace_: TracebackType | None) -> None:
        self.__exit__(kind, error, trace_)

    def enter(self) -> None:
        """Make the span current without ending it on the way out; pair with `leave`."""
        activate(self)

    def leave(self) -> None:
        """Make current again what was so before `enter`."""
        token, self._token = self._token, None
        if token is not None:
            try:
                deactivate(token)
            except (ValueError, RuntimeError) as failure:
                pass_on(failure)
                _left_elsewhere()

    # -- reading --------------------------------------------------------------------------------------------------

    def get_span_context(self) -> SpanContext:
        """Return the span's identity for propagation."""
        context = self._context
        if context is None:
            ids = int.from_bytes(self.trace_id, "big"), int.from_bytes(self.span_id, "big")
            context = self._context = SpanContext(*ids, False, _SAMPLED)
        return context

    @property
    def attributes(self) -> Mapping[str, Any]:
        """What was set since it began."""
        return {} if self._changes is None else self._changes.attributes

    @property
    def status(self) -> int:
        """0 unset, 1 ok, 2 error."""
        return 0 if self._changes is None else self._changes.status

    def is_recording(self) -> bool:
        """Return whether the span is still open."""
        return self._open

    @property
    def inherited(self) -> bool:
        """Whether a parent process began it before it forked: it is left to that one."""
        return self._epoch != self._recorder.epoch

    def _changed(self) -> Changes:
        if self._changes is None:
            changes = Changes()
            # No call from here on, so no other thread comes in between.
            if self._changes is None:
                self._changes = changes
        return self._changes

    def _now(self) -> int:
        return self.start + self._recorder.tick() - self._tick

    def __repr__(self) -> str:
        return f"<Span {self.name!r} {self.trace_id.hex()}/{self.span_id.hex()}>"


def current_span() -> Span | None:
    """Return the current span if it is ours, else the nearest of ours around it, None without one."""
    for span in (current_any_span(), own_span()):
        if isinstance(span, Span):
            return span
    return None


def _left_elsewhere() -> None:
    # A generator finalised elsewhere, for example: that other context keeps its own current span.
    report("truncated", "foreign_context", "a span was left in another context than it was entered in")
