"""Open traces in the order of their last news, so that nobody has to look at those that may still wait."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from .open_trace import OpenTrace
from .settings import PipelineSettings


class Waiting:
    """All open traces. The longest untouched of a queue are its first, and all of a queue wait equally long."""

    def __init__(self, settings: PipelineSettings) -> None:
        self._queues: tuple[tuple[dict[str, OpenTrace], int], ...] = (
            ({}, settings.quiet),
            ({}, settings.idle),
            ({}, settings.remember),
        )
        """By `OpenTrace.patience`: the traces, and how long they wait for news."""

    def touch(self, trace_id: str, known: OpenTrace, now: int) -> None:
        """Note news of a trace: it goes behind all others."""
        patience = known.patience
        if known.queue == patience and known.touched == now:
            return  # its request has touched it before; those behind it were touched no later
        self.leave(trace_id, known)
        known.touched, known.queue = now, patience
        self._queues[patience][0][trace_id] = known

    def leave(self, trace_id: str, known: OpenTrace) -> None:
        """Let a trace wait no longer."""
        if known.queue >= 0:
            del self._queues[known.queue][0][trace_id]
            known.queue = -1

    def due(self, now: int) -> Iterator[tuple[str, OpenTrace]]:
        """Yield those that have waited long enough; they may leave meanwhile."""
        for queue, time in self._queues:
            yield from _untouched(queue, now - time)


def _untouched(queue: dict[str, OpenTrace], since: int) -> list[tuple[str, OpenTrace]]:
    return list(takewhile(lambda each: each[1].touched <= since, queue.items()))
