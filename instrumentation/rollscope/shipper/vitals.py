"""What is said of a producer besides its records: how many there are, what was lost of them, which spans are open, whether it lives."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping

from ..journal import Counters, LogReader
from .open_spans import OpenSpans
from .otlp import Item
from .producer import Producer
from .translation import Translation

FRESH = 1.0
"""Seconds for which what was read of a log's counters, and that its process lives, is not read again."""
_APART = 1_000_000
"""ns between two points of one series at least: Prometheus counts in milliseconds, and keeps the first of two samples of one."""


class Vitals:
    """Heartbeats of one producer, their numbers as metrics, and the counts behind both."""

    def __init__(self, reader: LogReader, producer: Producer, translation: Translation, open_spans: OpenSpans) -> None:
        self._reader = reader
        self._producer = producer
        self._translation = translation
        self._open_spans = open_spans
        self._known, self._known_until = Counters(0, {}, {}, {}), 0.0
        self._measured = 0

    def heartbeat(self, *, final: bool = False) -> Item:
        """Return the producer's heartbeat now."""
        counters = self._counters(fresh=final)
        return self._translation.encoder.heartbeat(
            time.time_ns(),
            counters.last_sequence,
            self._lost(counters.dropped),
            {**counters.truncated, **self._producer.remembered.replaced},
            counters.failed,
            [] if final else self._open_spans.named(),
            final=final,
            abnormal=final and self.abnormal,
            deleted=counters.deleted,
        )

    def telemetry(self, pending: int, *, final: bool = False) -> Item:
        """Return the heartbeat's numbers as metrics; `pending`: bytes of the journal that wait to be sent."""
        counters = self._counters(fresh=final)
        spans = [] if final else self._open_spans.named()
        lost = self._lost(counters.dropped)
        now = time.time_ns()
        self._measured = self._measured + _APART if abs(now - self._measured) < _APART else now
        return self._translation.encoder.telemetry(self._measured, counters.last_sequence, lost, spans, pending, final=final)

    def loss_counts(self) -> object:
        """Return what a heartbeat tells at once when it changes."""
        counters = self._counters()
        return counters.dropped, counters.truncated, counters.failed, counters.deleted, dict(self._producer.remembered.lost)

    def waiting(self) -> int:
        """Return how many records are not acknowledged yet."""
        return max(0, self._counters().last_sequence - self._reader.acknowledged())

    @property
    def abnormal(self) -> bool:
        """Whether the process ended without finishing: a run that it began, or spans."""
        return self._producer.unfinished or bool(self._open_spans)

    def _counters(self, *, fresh: bool = False) -> Counters:
        """Return the writer's counts, as they were lately; of a log that was deleted the last ones known, and that it was."""
        now = time.monotonic()
        if now < self._known_until and not fresh:
            return self._known
        self._known_until = now + FRESH
        found = self._reader.counters()
        if found.last_sequence < self._known.last_sequence:
            self._known = self._known._replace(deleted=self._known.last_sequence)
            return self._known
        self._known = found
        return found

    def _lost(self, dropped: Mapping[str, int]) -> Counter[str]:
        lost = Counter(dropped)
        lost.update(self._producer.remembered.lost)
        if unreadable := self._reader.damaged.get("beginning"):
            lost["damaged: beginning"] = unreadable
        return lost
