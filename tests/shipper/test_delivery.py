"""Refused requests are split down to the record at fault; nothing else is lost, and a peer that takes nothing loses nothing."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.settings.endpoint import Signal
from rollscope.shipper.backoff import Backoff
from rollscope.shipper.delivery import TARGET, Delivery, Sent, batches
from rollscope.shipper.otlp import REQUEST_CAP, Item, assemble, framed
from rollscope.shipper.transport import Outcome, Peer, Verdict


def item(n: int, size: int = 10, signal: Signal = "traces") -> Item:
    """A record whose bytes say which it is."""
    return Item(signal, framed(1, b"r"), framed(1, b"s"), framed(2, b"<%d>" % n + b"x" * size), "span", n)


class Scripted:
    """A transport that answers by what is in a request. Stands for servers that fail in ways a real one cannot be told to."""

    def __init__(self, bad: set[int], verdict: Verdict = Verdict.REFUSED) -> None:
        self.bad, self.verdict = bad, verdict
        self.taken: list[int] = []
        self.requests = 0

    def send(self, body: bytes) -> Outcome:
        """Refuse a request with a bad record in it."""
        self.requests += 1
        found = [int(number) for number in re.findall(rb"<(\d+)>", body)]
        if self.bad.intersection(found):
            return Outcome(self.verdict, "scripted")
        self.taken += found
        return Outcome(Verdict.ACCEPTED)

    def close(self) -> None:
        """Nothing to close."""


def delivery(transport: Any) -> tuple[Delivery, list[tuple[int, str]]]:
    """A delivery over `transport` and what it sets aside."""
    aside: list[tuple[int, str]] = []
    peer = Peer({"traces": transport, "logs": transport, "metrics": transport})
    return Delivery(peer, Sent(), lambda item, reason: aside.append((item.sequence, reason))), aside


@pytest.mark.parametrize("verdict", [Verdict.REFUSED, Verdict.TOO_LARGE])
@given(st.integers(1, 60), st.sets(st.integers(0, 59), max_size=4))
def test_only_the_bad_records_are_set_aside(verdict: Verdict, count: int, bad: set[int]) -> None:
    """Whatever is refused is found by splitting; its neighbours arrive in order."""
    transport = Scripted(bad, verdict)
    sender, aside = delivery(transport)
    assert sender.say([item(1000)]) is None
    assert sender.deliver(map(item, range(count))) is None
    assert transport.taken[1:] == [n for n in range(count) if n not in bad]
    assert aside == [(n, verdict.value) for n in range(count) if n in bad]


def test_a_peer_that_takes_nothing_loses_nothing() -> None:
    """Where every request is refused the fault is not a record's: nothing is set aside, all of it is tried again."""
    transport = Scripted(set(range(100)))
    sender, aside = delivery(transport)
    for _ in range(3):
        assert sender.deliver(map(item, range(100))) is not None
    assert aside == []


def test_a_failing_peer_is_given_time_before_its_records_are_tried_alone() -> None:
    """Internal errors are retried whole a few times, then the record at fault is found; a wholly broken peer loses nothing."""
    transport = Scripted({5}, Verdict.FAILED)
    sender, aside = delivery(transport)
    attempts = 0
    while sender.deliver(map(item, range(10))) is not None:
        attempts += 1
        assert aside == []
    assert attempts == 5
    assert aside == [(5, "failed")]
    assert sorted(set(transport.taken)) == [0, 1, 2, 3, 4, 6, 7, 8, 9]
    broken = Scripted(set(range(10)), Verdict.FAILED)
    sender, aside = delivery(broken)
    for _ in range(20):
        assert sender.deliver(map(item, range(10))) is not None
    assert aside == []


def test_heartbeats_prove_a_peer_for_their_signal_only() -> None:
    """A last record that makes the peer fail is set aside once the peer took something else of the same signal meanwhile."""
    transport = Scripted({5}, Verdict.FAILED)
    sender, aside = delivery(transport)
    for _ in range(10):
        sender.say([item(1000, signal="logs")])
        assert sender.deliver([item(5)]) is not None
    for _ in range(6):
        sender.say([item(1000)])
        sender.deliver([item(5)])
    assert aside == [(5, "failed")]


def test_an_unsupported_signal_blocks_unless_it_is_metrics() -> None:
    """A peer without metrics gets everything else; one without traces or logs is wrongly configured and waited for."""
    transport = Scripted({5, 6}, Verdict.UNSUPPORTED)
    sender, aside = delivery(transport)
    sender.say([item(1000)])
    assert sender.deliver([item(5, signal="metrics"), item(7, signal="metrics")]) is None
    assert [n for n, _ in aside] == [5, 7]
    assert sender.deliver([item(6)]) is not None
    assert [n for n, _ in aside] == [5, 7]


def test_a_busy_peer_is_asked_again() -> None:
    """What the peer cannot take now is not split and not set aside."""
    transport = Scripted({3}, Verdict.RETRY)
    sender, aside = delivery(transport)
    postponed = sender.deliver(map(item, range(10)))
    assert postponed is not None
    assert (transport.requests, aside, postponed.failed) == (1, [], False)


@given(st.lists(st.tuples(st.sampled_from(["traces", "logs"]), st.sampled_from([10, 1000, 300_000, 1_400_000, 2_900_000])), max_size=20))
def test_requests_stay_within_their_limits(shapes: list[tuple[Signal, int]]) -> None:
    """Near the target, never over the cap, each signal in order, each record once."""
    items = [item(n, size, signal) for n, (signal, size) in enumerate(shapes)]
    made = list(batches(items))
    for batch in made:
        assert len({piece.signal for piece in batch}) == 1
        size = len(assemble(batch))
        assert size <= REQUEST_CAP
        assert len(batch) == 1 or size <= TARGET + (256 << 10)
    for signal in ("traces", "logs"):
        sent = [piece.sequence for batch in made for piece in batch if piece.signal == signal]
        assert sent == [piece.sequence for piece in items if piece.signal == signal]


def test_pauses_grow_to_a_cap_and_respect_the_peer() -> None:
    """Doubling with jitter up to 30 s; a peer's own wish is followed up to five minutes."""
    backoff = Backoff()
    pauses = [backoff.failed() for _ in range(40)]
    assert 0.1 <= pauses[0] <= 0.2
    assert all(15.0 <= pause <= 30.0 for pause in pauses[10:])
    assert backoff.failed(retry_after=120.0) == 120.0
    assert backoff.failed(retry_after=9000.0) == 300.0
    assert 0.0 <= backoff.failed(retry_after=0.0) <= 3.0
    backoff.succeeded()
    assert backoff.failed() <= 0.2
