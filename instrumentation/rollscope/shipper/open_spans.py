"""Spans of one producer that began and did not end: named in its heartbeats, closed when it has died."""

from __future__ import annotations

import logging

import msgspec

from ..journal import LogReader
from ..records import SpanStart, decode_start
from .otlp import Item, OpenSpan
from .producer import Producer
from .translation import Translation

_log = logging.getLogger(__name__)


class OpenSpans:
    """What the log holds of spans that are not over."""

    def __init__(self, reader: LogReader, producer: Producer, translation: Translation) -> None:
        self._reader = reader
        self._producer = producer
        self._translation = translation
        self._aborted: list[Item] | None = None

    def __bool__(self) -> bool:
        return bool(self._starts())

    def named(self) -> list[OpenSpan]:
        """Return them as a heartbeat names them, oldest first."""
        return [OpenSpan(self._translation.name(start), start.trace_id, start.span_id, start.start) for start in self._starts()]

    def aborted(self) -> list[Item]:
        """Return spans that the dead process left open, closed at the time it was seen last."""
        if self._aborted is None:
            before = self._translation.replaced()
            self._aborted = self._translation.aborted(self._starts(), self._producer.remembered.last_seen)
            self._producer.redacted(self._translation.replaced() - before)
        return self._aborted

    def _starts(self) -> list[SpanStart]:
        """Return how the spans began that are open, oldest first."""
        starts = []
        for head in self._reader.held():
            try:
                starts.append(decode_start(head))
            except msgspec.MsgspecError as error:
                _log.error("an open span of %s cannot be read: %s", self._producer.id, error)
        return sorted(starts, key=lambda start: start.start)
