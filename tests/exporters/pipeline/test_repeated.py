"""Two trajectories under the same step, group, index and attempt in two processes: joined, and the ledger says so."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

import rollscope as rs
from rollscope.ids import EntropyIds
from rollscope.shipper.otlp import Item
from rollscope_exporters.records import LateFacts, Trace, Trajectory

from ..bridge import Bridge
from ..wire import Process, process, requests, singly
from .rollouts import roll_out, start

NOTE = (
    "1 trajectory with the step, group, index and attempt of another one was joined with it (first: step 3, group g, index 0, attempt 0): "
    "a group's name must mean the same group in all processes, a retry needs another `attempt`"
)
SECOND, THIRD = "00000000000000bb", "00000000000000cc"


@pytest.fixture
def first(bridge: Bridge) -> Iterator[Process]:
    """The run's first process, announced."""
    with process() as worker:
        start(bridge, worker)
        yield worker


def rollout_of(producer: str, group_size: int = 1) -> list[Item]:
    """What a process of its own records of one group."""
    with process(producer, ids=EntropyIds()) as worker:
        for index in range(group_size):
            roll_out(index=index)
        return worker.items()


def repeated(bridge: Bridge) -> int:
    """How many trajectories the ledger names."""
    return bridge.ledger().runs[0].repeated


def aborted_root(worker: Process) -> Item:
    """The root as the shipper closes it for a process that died."""
    root = next(record for record in worker.memory.started if record.parent_id is None)
    return worker._encoder.aborted(root, root.start + 5)


def test_another_trajectory_after_the_first_went_out(bridge: Bridge, first: Process) -> None:
    """It arrives whole, as late spans and facts of the first, and is named in the ledger's notes."""
    roll_out()
    bridge.take(requests(first.items()))
    bridge.take(requests(rollout_of(SECOND)))
    (found,) = bridge.of(Trajectory)
    assert {late.trace_id for late in bridge.of(Trace)} == {found.id} == {late.trajectory for late in bridge.of(LateFacts)}
    assert bridge.ledger().runs[0].notes == [NOTE]


def test_another_trajectory_while_the_first_is_open(bridge: Bridge, first: Process) -> None:
    """It is counted when its root comes, though the first still waits for a record."""
    roll_out()
    *others, last = sorted(first.items(), key=lambda item: item.what == "tokens")
    bridge.take(requests(others))
    bridge.take(requests(rollout_of(SECOND)))
    assert not bridge.of(Trajectory)
    assert bridge.ledger().runs[0].notes == [NOTE]
    bridge.take(requests([last]))
    assert (len(bridge.of(Trajectory)), repeated(bridge)) == (1, 1)


@pytest.mark.parametrize("seed", range(8))
def test_each_is_counted_once(bridge: Bridge, first: Process, seed: int) -> None:
    """Of three under the same coordinates two are counted, in whatever order and however often they come, and across restarts."""
    roll_out()
    sent = singly([*first.items(), *rollout_of(SECOND), *rollout_of(THIRD)]) * 2
    random.Random(seed).shuffle(sent)
    for n, request in enumerate(sent):
        bridge.take([request])
        if n % 5 == seed % 5:
            bridge.restart()
    bridge.wait(700)
    assert repeated(bridge) == 2
    assert bridge.sources() == {first.producer: len(sent) // 6 + 1, SECOND: len(sent) // 6, THIRD: len(sent) // 6}


def test_all_in_one_commit(bridge: Bridge, first: Process) -> None:
    """A group of two, in four processes: the first of each index is the trajectory, the others are counted, and one is named."""
    producers = [f"00000000000000{n:02x}" for n in range(1, 5)]
    bridge.take(requests([item for producer in producers for item in rollout_of(producer, 2)]))
    assert len(bridge.of(Trajectory)) == 2
    assert repeated(bridge) == 6
    assert bridge.ledger().runs[0].repeated_first == "step 3, group g, index 0, attempt 0"


def test_a_root_that_comes_when_its_trajectory_has_gone_out_is_the_first(bridge: Bridge, first: Process) -> None:
    """What went out without its root waits for one: only another one is counted."""
    roll_out()
    *others, root = first.items()
    assert root.signal == "traces"
    bridge.take(requests(others))
    bridge.wait(700)
    assert len(bridge.of(Trajectory)) == 1
    bridge.take(requests([root]))
    bridge.restart()
    assert repeated(bridge) == 0
    bridge.take(requests(rollout_of(SECOND)))
    assert repeated(bridge) == 1


@pytest.mark.parametrize("seconds", [1, 700])
def test_a_retry_after_a_killed_worker_is_no_repetition(bridge: Bridge, first: Process, seconds: float) -> None:
    """A root that the shipper closed gives way to the retry's, whether or not it has gone out."""
    roll_out()
    *others, _ = first.items()
    bridge.take(requests([*others, aborted_root(first)]))
    bridge.wait(seconds)
    bridge.take(requests(rollout_of(SECOND)))
    bridge.wait(700)
    assert repeated(bridge) == 0
    assert len(bridge.of(Trajectory)) == 1


def test_a_killed_retry_is_no_repetition(bridge: Bridge, first: Process) -> None:
    """Nor is a retry that was killed itself, after the first had ended."""
    roll_out()
    bridge.take(requests(first.items()))
    with process(SECOND, ids=EntropyIds()) as worker:
        roll_out()
        bridge.take(requests([*worker.items()[:-1], aborted_root(worker)]))
    assert repeated(bridge) == 0


def test_the_real_end_after_an_aborted_one_is_no_repetition(bridge: Bridge, first: Process) -> None:
    """A process thought dead ends its own root: one span, told twice."""
    roll_out()
    bridge.take(requests([aborted_root(first)]))
    bridge.wait(700)
    bridge.take(requests(first.items()))
    assert repeated(bridge) == 0


def test_other_processes_of_a_trajectory_are_no_repetition(bridge: Bridge, first: Process) -> None:
    """A remote tool worker's spans and a judge's reward join the trajectory as before."""
    with rs.trajectory(group="g", index=0, step=3, agent="adder") as trajectory:
        carrier = rs.carrier()
    with process(SECOND, ids=EntropyIds()) as remote:
        with rs.attach(carrier), rs.tool("add", arguments={}) as tool:
            tool.result("2")
        rs.reward(0.5, trajectory=trajectory.id, name="judge")
        bridge.take(requests([*remote.items(), *first.items()]))
    (found,) = bridge.of(Trajectory)
    assert [span.name for span in found.spans] == ["invoke_agent adder", "execute_tool add"]
    assert [reward.name for reward in found.rewards] == ["judge"]
    assert repeated(bridge) == 0


def test_what_a_process_repeats_itself_is_the_next_attempt(bridge: Bridge, first: Process) -> None:
    """Two trajectories, told apart, and nothing to count."""
    roll_out()
    roll_out()
    bridge.take(requests(first.items()))
    assert [found.attempt for found in bridge.of(Trajectory)] == [0, 1]
    assert repeated(bridge) == 0


def test_steps_of_several_processes_are_no_repetition(bridge: Bridge, first: Process) -> None:
    """Only roots of trajectories are."""
    for producer in (SECOND, THIRD):
        with process(producer, ids=EntropyIds()) as worker:
            with rs.step(1):
                pass
            bridge.take(requests(worker.items()))
    bridge.wait(10)
    assert repeated(bridge) == 0
