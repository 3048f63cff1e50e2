"""One kind of work with a thread, connections and pauses of its own: a request that hangs delays what waits behind it and nothing else.

The thread only sends. What is sent is made, and what follows from it is done, in the shipper's own thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from typing import NamedTuple

from .attempts import Attempts
from .delivery import Delivery, Postponed, Sent
from .otlp import Item
from .transport import Peer

Aside = tuple[Item, str]
"""A record that the peer will never take, and the reason's name."""


class Ended(NamedTuple):
    """How a piece of work went."""

    postponed: Postponed | None
    aside: list[Aside]
    error: BaseException | None = None
    """A fault of ours."""


class _Work(NamedTuple):
    delivery: Delivery
    items: Sequence[Item]
    counted: bool


class Sender:
    """Sends one piece of work at a time; `wake` is called, in its thread, when one has ended."""

    def __init__(self, name: str, wake: Callable[[], None]) -> None:
        self.name = name
        self.attempts = Attempts()
        self.sent = Sent()
        self._wake = wake
        self._peer: Peer | None = None
        self._old: list[Peer] = []
        self._delivery: Delivery | None = None
        self._aside: list[Aside] = []
        self._then: Callable[[Ended], None] | None = None
        self._work: SimpleQueue[_Work] = SimpleQueue()
        self._results: SimpleQueue[Ended] = SimpleQueue()
        self._thread: threading.Thread | None = None

    @property
    def busy(self) -> bool:
        """Whether something is being sent, or was and `collect` has not been called."""
        return self._then is not None

    def free(self, now: float) -> bool:
        """Return whether it is idle and it is time to try (`now`: monotonic clock, seconds)."""
        return self._then is None and self._delivery is not None and self.attempts.due(now)

    def meet(self, peer: Peer) -> None:
        """Send to `peer` from now on, and begin with it at once."""
        if self._peer is not None:
            self._old.append(self._peer)
        self._peer = peer
        self._delivery = Delivery(peer, self.sent, lambda item, reason: self._aside.append((item, reason)))
        self.attempts.ended(None)

    def begin(self, items: Sequence[Item], then: Callable[[Ended], None], *, counted: bool = True) -> None:
        """Send `items`; `collect` calls `then`. Not `counted` are items that stand for no record, such as heartbeats."""
        delivery = self._delivery
        assert delivery is not None, "a sender meets its peer before it begins"
        self._then = then
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"rollscope-{self.name}", daemon=True)
            self._thread.start()
        self._work.put(_Work(delivery, items, counted))

    def collect(self) -> bool:
        """Do what follows from what was sent; False when nothing has ended since the last call."""
        if self._results.empty():
            return False
        ended = self._results.get()
        then, self._then = self._then, None
        if ended.error is not None:
            raise ended.error
        self._close_old()
        if then is not None:
            then(ended)
        return True

    def close(self) -> None:
        """Let go of connections; one on which a request hangs ends with the process."""
        if self._then is None and self._peer is not None:
            self._close_old()
            self._peer.close()

    def _close_old(self) -> None:
        while self._old:
            self._old.pop().close()

    def _run(self) -> None:
        while True:
            delivery, items, counted = self._work.get()
            try:
                ended = Ended((delivery.deliver if counted else delivery.say)(items), self._aside)
            except BaseException as error:  # noqa: BLE001  # raised again by the one who collects
                ended = Ended(None, [], error)
            self._aside = []
            del items  # the next piece may be long in coming
            self._results.put(ended)
            self._wake()
