"""Delivering encoded records: batches by bytes, splitting what is refused down to the record that is at fault."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from ..settings.endpoint import Channel
from .otlp import Item, assemble, size_of
from .transport import Outcome, Peer, Verdict

TARGET = 1 << 20
"""Bytes of records that are gathered for a request; a single record may need more, up to `REQUEST_CAP`."""
_LIMIT = TARGET + (256 << 10)
"""Bytes above which a second request is begun: the last piece that was gathered shall still fit into the first."""
_PATIENCE = 5
"""Attempts at a request on which the peer itself fails before its records are tried one by one."""

_log = logging.getLogger(__name__)

SetAside = Callable[[Item, str], None]
"""Told of a record that the peer will never take, and the reason's name."""


class Postponed(NamedTuple):
    """The peer cannot take it now."""

    detail: str
    retry_after: float | None = None
    failed: bool = False
    """Whether the peer failed on this request, rather than being away or busy."""


class _Trouble(NamedTuple):
    """A row of requests of one channel on which the peer failed."""

    attempts: int
    accepted_before: int


@dataclass
class Sent:
    """What was delivered so far."""

    records: Counter[str] = field(default_factory=Counter)
    """Records accepted, by channel."""
    requests: int = 0
    bytes: int = 0
    """Bytes of accepted requests before compression."""
    rejected: int = 0
    """Records that the peer left out of requests it accepted (partial success)."""


class Delivery:
    """Sends items to one peer."""

    def __init__(self, peer: Peer, sent: Sent, set_aside: SetAside) -> None:
        self.peer = peer
        self._sent = sent
        self._set_aside = set_aside
        self._trouble: dict[Channel, _Trouble] = {}

    def deliver(self, items: Iterable[Item]) -> Postponed | None:
        """Deliver items in order, those of one channel together. None when each was accepted or set aside."""
        for batch in batches(items):
            channel = batch[0].channel
            trouble = self._trouble.get(channel) or _Trouble(0, self.peer.accepted.of(channel))
            postponed = self._deliver(batch, trouble)
            if postponed is None:
                self._trouble.pop(channel, None)
                continue
            if postponed.failed:
                self._trouble[channel] = trouble._replace(attempts=trouble.attempts + 1)
            return postponed
        return None

    def say(self, items: Iterable[Item]) -> Postponed | None:
        """Deliver items that stand for no record (heartbeats); they say nothing about the requests in trouble."""
        kept, self._trouble = self._trouble, {}
        try:
            return self.deliver(items)
        finally:
            self._trouble = kept

    def _deliver(self, batch: list[Item], trouble: _Trouble) -> Postponed | None:
        channel = batch[0].channel
        body = assemble(batch)
        outcome = self.peer.send(channel, body)
        verdict = outcome.verdict
        if verdict is Verdict.ACCEPTED:
            self._accepted(batch, body, outcome)
            return None
        patient = verdict is Verdict.FAILED and trouble.attempts < _PATIENCE
        if patient or verdict is Verdict.RETRY or (verdict is Verdict.UNSUPPORTED and channel != "metrics"):
            return Postponed(outcome.detail, outcome.retry_after, verdict is Verdict.FAILED)
        if len(batch) > 1 and verdict is not Verdict.UNSUPPORTED:
            half = len(batch) // 2
            return self._deliver(batch[:half], trouble) or self._deliver(batch[half:], trouble)
        return self._give_up(batch, outcome, trouble)

    def _accepted(self, batch: list[Item], body: bytes, outcome: Outcome) -> None:
        sent = self._sent
        sent.records[batch[0].channel] += max(0, len(batch) - outcome.rejected)
        sent.requests += 1
        sent.bytes += len(body)
        if outcome.rejected:
            sent.rejected += outcome.rejected
            _log.warning("the peer left out %d of %d records: %s", outcome.rejected, len(batch), outcome.detail)

    def _give_up(self, batch: list[Item], outcome: Outcome, trouble: _Trouble) -> Postponed | None:
        """Set a batch aside if the peer has shown that it takes others; a peer that takes nothing has another fault."""
        failed = outcome.verdict is Verdict.FAILED
        accepted = self.peer.accepted
        proven = accepted.of(batch[0].channel) > trouble.accepted_before if failed else accepted.any()
        if not proven:
            return Postponed(outcome.detail, outcome.retry_after, failed)
        for item in batch:
            _log.error("set aside: %s %d (%d bytes): %s", item.what, item.sequence, len(item.data), outcome.detail)
            self._set_aside(item, outcome.verdict.value)
        return None


def batches(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Lists of items of one channel, about `TARGET` bytes when assembled and above `REQUEST_CAP` never, each channel in order."""
    by_channel: dict[Channel, list[Item]] = {}
    for item in items:
        by_channel.setdefault(item.channel, []).append(item)
    for group in by_channel.values():
        yield from _by_size(group)


def _by_size(items: list[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    groups: set[tuple[bytes, bytes]] = set()
    size = 0
    for item in items:
        more = len(item.data) if (item.resource, item.scope) in groups else size_of(item)
        if batch and size + more > _LIMIT:
            yield batch
            batch, size = [], 0
            groups.clear()
            more = size_of(item)
        batch.append(item)
        groups.add((item.resource, item.scope))
        size += more
    if batch:
        yield batch
