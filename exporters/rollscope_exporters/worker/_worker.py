"""The loop: read, deliver, remember, wait for more."""

from __future__ import annotations

import threading

from ..beats import BeatFile
from ._delivery import Delivery
from ._feed import Batch, Feed
from ._position import PositionFile
from ._trial import Trial

_POLL = 0.1
"""Seconds between two looks at the store when there is nothing new."""
_IDLE_SAVE = 1.0
"""Seconds between two writes of a position that moved only past records of others."""


class Worker:
    """One backend's delivery until `stop` is set."""

    def __init__(
        self, feed: Feed, delivery: Delivery, position: PositionFile, beat: BeatFile, trial: Trial, *, rows: int, bytes_: int
    ) -> None:
        self._feed, self._delivery, self._position = feed, delivery, position
        self._beat, self._trial = beat, trial
        self._rows, self._bytes = rows, bytes_

    def run(self, stop: threading.Event) -> None:
        """Deliver until `stop`. Raises Stopped or RestartNeeded out of a wait for the backend."""
        idle = 0.0
        while not stop.is_set():
            if self.step():
                continue
            self._beat("idle", position=self._position.current.position)
            idle += _POLL
            if idle >= _IDLE_SAVE:
                idle = 0.0
                self._delivery.advance(0)
            stop.wait(_POLL)
        self._delivery.advance(0)

    def step(self) -> bool:
        """Deliver one batch; False when there was nothing new."""
        before = self._position.current.position
        batch = self._read()
        self._position.expect(batch.passing)
        if not batch.items:
            self._position.advance(batch.upto)
            return batch.upto > before
        if self._trial.on:
            self._trial.deliver(batch.items, self._delivery)
        else:
            self._delivery.deliver(batch.items)
        self._delivery.advance(batch.upto)
        return True

    def _read(self) -> Batch:
        reached = self._position.current
        limits = self._trial.limits(self._rows, self._bytes)
        batch = self._feed.next(reached.position, *limits, reached.parts)
        while self._trial.wants_more(batch.items) and (more := self._feed.next(batch.upto, *limits)).upto > batch.upto:
            batch = Batch([*batch.items, *more.items], more.upto, [*batch.passing, *more.passing])
        return batch
