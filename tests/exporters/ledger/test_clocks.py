"""Clocks of machines, measured by heartbeats."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.shipper.otlp import OpenSpan
from rollscope_exporters.ledger import RunLedger
from rollscope_exporters.ledger.clocks import TOLERANCE, disagreements, measure
from rollscope_exporters.ledger.model import HostLine
from rollscope_exporters.ledger.states import ProducerState

from ..bridge import SECOND, Bridge
from ..wire import NOW, Process, process, requests

offsets = st.integers(-100 * SECOND, 100 * SECOND)
deliveries = st.lists(st.integers(0, 30 * SECOND), min_size=1, max_size=10)


def hear(bridge: Bridge, worker: Process, behind: float, delivery: float) -> RunLedger:
    """Let a heartbeat arrive from a clock that is `behind` the bridge's by that many seconds, after `delivery`."""
    bridge.wait(5)
    written = bridge.now - int(behind * SECOND)
    bridge.take(requests([*worker.items(), worker.heartbeat(now=written)]), delivery)
    return bridge.ledger("run-1").runs[0]


@pytest.mark.parametrize(
    ("behind", "said"),
    [
        (2.5, "is 2.6 s behind the bridge's, or all that it sends arrives so late"),
        (-2.5, "is 2.4 s ahead of the bridge's"),
        (0.5, None),
        (-0.5, None),
    ],
)
def test_a_clock_more_than_a_second_off_is_named(bridge: Bridge, behind: float, said: str | None) -> None:
    """By the heartbeat that was delivered quickest, ahead or behind, in the notes: the verdict is about records."""
    with process() as worker:
        worker.memory.recorder.event("anything", {})
        for delivery in (4.0, 0.1, 3.0):
            run = hear(bridge, worker, behind, delivery)
    (host,) = run.hosts
    assert (host.producers, host.clock_offset) == (1, pytest.approx(behind + 0.1))
    assert run.notes == ([f"the clock of {host.host} {said}"] if said else [])
    assert not run.verdict.startswith("incomplete")


def test_a_clock_that_is_set_back_hides_nothing(bridge: Bridge) -> None:
    """What a producer says after its host's clock went back an hour counts: records, losses and the end."""
    hour = 3600 * SECOND
    with process() as worker:
        bridge.take(requests([*worker.items(), worker.heartbeat(now=bridge.now)]))
        worker.memory.recorder.event("anything", {})
        span = OpenSpan("work", bytes(16), bytes(8), NOW)
        bridge.take(requests([*worker.items(), worker.heartbeat(now=bridge.now - hour, spans=[span], full=2)]))
        (line,) = bridge.ledger("run-1").runs[0].producers
        assert (line.dropped, len(line.open_spans)) == ({"full": 2}, 1)
        bridge.take(requests([worker.heartbeat(now=bridge.now - hour, final=True, full=3)]))
    (line,) = bridge.ledger("run-1").runs[0].producers
    assert (line.final, line.dropped, line.open_spans) == (True, {"full": 3}, [])


def test_the_end_is_not_taken_back(bridge: Bridge) -> None:
    """A heartbeat that was overtaken by the final one, whatever its time, changes nothing of what may change."""
    with process() as worker:
        worker.memory.recorder.event("anything", {})
        late = worker.heartbeat(now=bridge.now + SECOND, full=5)
        bridge.take(requests([*worker.items(), worker.heartbeat(now=bridge.now, final=True), late]))
    (line,) = bridge.ledger("run-1").runs[0].producers
    assert (line.final, line.dropped) == (True, {"full": 5})


def test_a_clock_that_was_set_is_believed(bridge: Bridge) -> None:
    """Only the latest heartbeats count: once they agree, nothing is said any more."""
    with process() as worker:
        worker.memory.recorder.event("anything", {})
        assert hear(bridge, worker, -60, 0.1).notes
        bridge.now += 120 * SECOND
        for _ in range(24):
            run = hear(bridge, worker, 0, 0.1)
    assert (run.notes, run.hosts[0].clock_offset) == ([], pytest.approx(0.1))


@given(clocks=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.tuples(offsets, deliveries), min_size=1))
def test_the_offset_is_too_high_by_the_quickest_delivery(clocks: dict[str, tuple[int, list[int]]]) -> None:
    """Whatever the order and number of heartbeats and of processes on a host."""
    producers = [ProducerState("run", host=host, lags=[offset + late]) for host, (offset, all_late) in clocks.items() for late in all_late]
    found = {line.host: line.clock_offset for line in measure(producers)}
    assert found == {host: pytest.approx((offset + min(late)) / SECOND) for host, (offset, late) in clocks.items()}


@given(st.lists(st.floats(-5, 5), max_size=4))
def test_clocks_that_agree_are_not_named_and_others_are(values: list[float]) -> None:
    """Something is said exactly when a clock is off against the bridge's, or two are against each other."""
    said = list(disagreements([HostLine(host=f"node-{i}", producers=1, clock_offset=value) for i, value in enumerate(values)]))
    ordered = sorted(values)
    apart = bool(ordered) and ordered[-1] - ordered[0] > TOLERANCE
    assert bool(said) == (apart or any(abs(value) > TOLERANCE for value in values))


def test_a_host_without_heartbeat_has_no_offset() -> None:
    """Nothing is guessed before the first heartbeat, and a process without a host's name belongs to none."""
    assert measure([ProducerState("run", host="a"), ProducerState("run")]) == [HostLine(host="a", producers=1)]
    assert list(disagreements(measure([ProducerState("run", host="a")]))) == []
