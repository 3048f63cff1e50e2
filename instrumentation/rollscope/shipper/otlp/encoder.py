"""The encoder of one producer: resource and scopes encoded once, records one by one."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.resource.v1 import resource_pb2

from ... import vocabulary as v
from ...records import Event, Otlp, Record, SpanEnd, SpanStart, Tokens
from ...redact import Redactor
from ...settings.endpoint import Signal
from ._wire import framed
from .cut import Cuttable, shorter
from .heartbeat import OpenSpan, heartbeat
from .item import RECORD_CAP, RECORDS_FIELD, RESOURCE_FIELD, SCOPE_FIELD, Item
from .logs import event
from .metrics import StepGauges, foreign_metrics
from .spans import aborted_span, span
from .telemetry import telemetry
from .tokens import Texts, tokens
from .values import put_attributes


class EncodeError(ValueError):
    """When a record cannot be put into OTLP; it is counted and left behind, its neighbours go on."""


class Encoder:
    """Turns records of one producer into `Item`s.

    `resource` are the producer's OTLP resource attributes, `derive` adds gauges for Prometheus to step metrics. `redactor` sees to token
    ids, which are looked at with their text; everything else comes redacted.
    """

    def __init__(self, resource: Mapping[str, object], texts: Texts, *, derive: bool = False, redactor: Redactor | None = None) -> None:
        self.producer = str(resource.get(v.PRODUCER_ID, ""))
        self._attributes = dict(resource)
        self._resource = _resource(resource)
        self._scopes: dict[str, bytes] = {}
        self._texts = texts
        self._redactor = redactor
        self._gauges = StepGauges() if derive else None

    def encode(self, record: Record, sequence: int) -> list[Item]:
        """Return items of one record, its own first. Raises `EncodeError`."""
        try:
            return self._encode(record, sequence)
        except (ValueError, TypeError, OverflowError, RecursionError, struct.error, DecodeError) as error:
            raise EncodeError(f"{type(error).__name__}: {error}") from error

    def aborted(self, start: SpanStart, end: int) -> Item:
        """Return the span that `start` began, closed at `end` (Unix time, ns). Raises `EncodeError`."""
        try:
            data = self._fitting(lambda record: aborted_span(record, end), start)
            return self._item("traces", start.scope, data, "aborted span")
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise EncodeError(f"{type(error).__name__}: {error}") from error

    def heartbeat(
        self,
        now: int,
        last_sequence: int,
        dropped: Mapping[str, int],
        truncated: Mapping[str, int],
        failed: Mapping[str, int],
        open_spans: list[OpenSpan],
        *,
        final: bool = False,
        abnormal: bool = False,
        deleted: int = 0,
    ) -> Item:
        """Return the producer's heartbeat at `now` (Unix time, ns)."""
        data = heartbeat(now, last_sequence, dropped, truncated, failed, open_spans, final=final, abnormal=abnormal, deleted=deleted)
        return self._item("logs", v.SCOPE_OWN, data, "heartbeat")

    def telemetry(
        self, now: int, records: int, dropped: Mapping[str, int], open_spans: list[OpenSpan], waiting: int, *, final: bool = False
    ) -> Item:
        """Return the heartbeat's numbers as metrics; `waiting` in bytes."""
        return self._derived(telemetry(now, records, dropped, open_spans, waiting, final=final), "derived telemetry")

    def _encode(self, record: Record, sequence: int) -> list[Item]:
        if isinstance(record, SpanEnd):
            data = self._fitting(lambda record: span(record, sequence), record)
            return [self._item("traces", record.scope, data, "span", sequence)]
        if isinstance(record, Event):
            return self._event(record, sequence)
        if isinstance(record, Tokens):
            return [self._tokens(record, sequence)]
        return self._foreign(record, sequence)

    def _event(self, record: Event, sequence: int) -> list[Item]:
        data = self._fitting(lambda record: event(record, self.producer, sequence), record)
        items = [self._item("logs", record.scope, data, record.name or "log line", sequence)]
        if self._gauges is not None and record.name == v.EVENT_STEP_METRICS and (points := self._gauges.encode(record)):
            items.append(self._derived(points, "derived gauges"))
        return items

    def _tokens(self, record: Tokens, sequence: int) -> Item:
        data = tokens(record, self.producer, sequence, self._texts, self._redactor)
        if len(data) > RECORD_CAP:
            data = tokens(record, self.producer, sequence, self._texts, self._redactor, with_text=False)
        data = framed(RECORDS_FIELD, _within_cap(data))
        return Item("logs", self._resource, self._scope(v.SCOPE_OWN), data, "tokens", sequence, payload=True)

    def _foreign(self, record: Otlp, sequence: int) -> list[Item]:
        data = _within_cap(foreign_metrics(record.payload, self._attributes, sequence))
        return [Item("metrics", self._resource, b"", data, "foreign metrics", sequence)] if data else []

    def _fitting(self, encode: Callable[[Cuttable], bytes], record: Cuttable) -> bytes:
        data = encode(record)
        if len(data) <= RECORD_CAP:
            return data
        for cut in shorter(record):
            data = encode(cut)
            if len(data) <= RECORD_CAP:
                return data
        return _within_cap(data)

    def _item(self, signal: Signal, scope: str, data: bytes, what: str, sequence: int = 0) -> Item:
        return Item(signal, self._resource, self._scope(scope), framed(RECORDS_FIELD, data), what, sequence)

    def _derived(self, metrics: bytes, what: str) -> Item:
        return Item("metrics", self._resource, self._scope(v.SCOPE_DERIVED), metrics, what, derived=True)

    def _scope(self, name: str) -> bytes:
        scope = self._scopes.get(name)
        if scope is None:
            message = common_pb2.InstrumentationScope(name=name)
            scope = self._scopes[name] = framed(SCOPE_FIELD, message.SerializeToString())
        return scope


def _resource(attributes: Mapping[str, object]) -> bytes:
    message = resource_pb2.Resource()
    put_attributes(message.attributes, attributes)
    return framed(RESOURCE_FIELD, message.SerializeToString())


def _within_cap(data: bytes) -> bytes:
    if len(data) > RECORD_CAP:
        raise ValueError(f"{len(data)} bytes are over the limit of {RECORD_CAP} for one record")
    return data
