"""Trajectories: what is in one, whatever the order its records come in."""

from __future__ import annotations

import random

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.records import LateFacts, RunStarted, Trace, Trajectory

from ..bridge import Bridge
from ..wire import Process, process, requests, singly
from .rollouts import ANSWER, CALL, END, MESSAGES, roll_out, start


def test_a_whole_trajectory_goes_out_at_once(bridge: Bridge) -> None:
    """With its last record the trajectory is there: identity, conversation, tokens, reward, counts."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out()
        bridge.take(requests(worker.items()))
    (found,) = bridge.of(Trajectory)
    assert (found.id, found.run, found.group, found.index, found.step, found.policy_version) == (trajectory_id, "run-1", "g", 0, 3, 2)
    assert (found.agent, found.outcome, found.split, found.incomplete) == ("adder", "completed", "train", "")
    assert found.messages == [*MESSAGES, CALL, ANSWER, END]
    assert [generation.input for generation in found.generations] == [MESSAGES, [*MESSAGES, CALL, ANSWER]]
    assert [generation.output for generation in found.generations] == [[CALL], [END]]
    assert [(segment.role, segment.count, segment.kept) for segment in found.tokens] == [
        ("prompt", 3, 0),
        ("output", 2, 3),
        ("prompt", 1, 5),
        ("output", 1, 6),
    ]
    assert (found.reward, found.rewards[0].components) == (1.0, {"format": 0.2, "answer": 0.8})
    assert found.metrics["generations"] == 2
    assert found.metrics["tool_calls"] == 1
    assert found.spans[0].resource[v.RUN_NAME] == "experiment"
    assert all(not span.resource for span in found.spans[1:])


@pytest.mark.parametrize("seed", range(8))
def test_the_order_of_arrival_does_not_matter(bridge: Bridge, seed: int) -> None:
    """In whatever order and however often the records come, and whenever the process is killed, the trajectory is the same."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        sent = singly(worker.items())
    expected = Bridge(bridge.storage / "straight")
    expected.take(sent)
    expected.wait(10)
    shuffled = sent * 2
    random.Random(seed).shuffle(shuffled)
    for request in shuffled:
        bridge.take([request])
        if random.Random(len(shuffled)).random() < 0.5:
            bridge.restart()
    assert bridge.of(Trajectory) == expected.of(Trajectory)
    assert bridge.sources() == {worker.producer: len(sent) + 1}
    assert not bridge.of(Trace)


def test_a_reward_before_the_trajectory_joins_it(bridge: Bridge) -> None:
    """A reward that overtakes its trajectory waits for it."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out(reward=False)
        spans = requests(worker.items())
    with process("00000000000000bb") as judge:
        rs.reward(0.7, trajectory=trajectory_id, name="judge")
        bridge.take(requests(judge.items()))
    bridge.take(spans)
    (found,) = bridge.of(Trajectory)
    assert found.reward == 0.7
    assert not bridge.of(LateFacts)


def test_a_resource_may_look_different_by_signal(bridge: Bridge) -> None:
    """A Collector that enriches spans and not logs does not keep a trajectory from being whole."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        plain, enriched = worker.items(), Process(worker.memory, worker.producer, **{"k8s.pod.name": "pod-1"}).items()
        bridge.take(requests([item for item in plain if item.signal == "logs"]))
        bridge.take(requests([item for item in enriched if item.signal == "traces"]))
    assert [found.incomplete for found in bridge.of(Trajectory)] == [""]


def test_a_reward_for_nothing_goes_out_with_the_end(bridge: Bridge) -> None:
    """Facts whose trajectory never came are told when the run ends."""
    with process() as worker:
        start(bridge, worker)
        rs.reward(0.7, trajectory="ab" * 16)
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    assert [(found.trajectory, found.rewards[0].value) for found in bridge.of(LateFacts)] == [("ab" * 16, 0.7)]
    assert bridge.store.waiting() == 0


def test_a_later_record_does_not_stand_in_for_a_missing_one(bridge: Bridge) -> None:
    """What a process wrote under the trace after the root ended is not counted among what the root counted."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out()
        items = worker.items()
        held_back = next(item for item in items if item.what == "tokens")
        rs.reward(0.1, trajectory=trajectory_id, name="late")
        bridge.take(requests([item for item in items if item is not held_back] + worker.items()))
        assert not bridge.of(Trajectory)
        bridge.take(requests([held_back]))
    (found,) = bridge.of(Trajectory)
    assert found.incomplete == ""
    assert len(found.tokens) == 4


def test_the_real_root_replaces_an_aborted_one(bridge: Bridge) -> None:
    """A span that was closed for a process thought dead gives way to its real end."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        items = worker.items()
        root = next(r for r in worker.memory.started if r.parent_id is None)
        bridge.take(requests([worker._encoder.aborted(root, root.start + 5)]))
        bridge.take(requests(items), seconds=1)
    (found,) = bridge.of(Trajectory)
    assert (found.outcome, v.ABORTED in found.spans[0].attributes, found.incomplete) == ("completed", False, "")


def test_a_lone_span_goes_out_at_once(bridge: Bridge) -> None:
    """A root whose process has sent everything before it has nothing to wait for."""
    with process() as worker:
        start(bridge, worker)
        with rs.span("work"):
            pass
        bridge.take(requests(worker.items()))
    assert [trace.spans[0].name for trace in bridge.of(Trace)] == ["work"]


def test_the_run_comes_first(bridge: Bridge) -> None:
    """The start of the run is the first record, whatever arrived before."""
    with process("00000000000000bb") as worker:
        roll_out()
        bridge.take(requests(worker.items()))
    assert bridge.records() == []
    with process() as driver:
        start(bridge, driver)
    assert [type(record) for record in bridge.records()] == [RunStarted, Trajectory]
