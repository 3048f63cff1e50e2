"""Trajectories: when one is whole, what is in it, what happens when something is missing or late."""

from __future__ import annotations

import contextvars
import random
from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.records import SpanStart
from rollscope.shipper.otlp import OpenSpan
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import LateFacts, RunStarted, Trace, Trajectory

from ..bridge import Bridge
from ..wire import Process, process, requests, singly

MESSAGES = [{"role": "system", "content": "Use the tool."}, {"role": "user", "content": "1 + 1? 答 🙂"}]
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 1, "b": 1}'}}],
}
ANSWER = {"role": "tool", "tool_call_id": "c1", "content": "2"}
END = {"role": "assistant", "content": "2"}


def roll_out(group: str = "g", index: int = 0, *, reward: bool = True) -> str:
    """One rollout of two generations and a tool call; returns its trajectory id."""
    with rs.trajectory(group=group, index=index, step=3, policy_version=2, agent="adder") as traj:
        with traj.turn(), traj.generation(model="m", messages=MESSAGES) as gen:
            gen.tokens(prompt=[1, 2, 3], output=[4, 5])
            gen.output(CALL, finish_reason="tool_call")
            with traj.tool("add", arguments={"a": 1, "b": 1}, call_id="c1") as tool:
                tool.result("2")
        with traj.turn(), traj.generation(model="m", messages=[*MESSAGES, CALL, ANSWER]) as gen:
            gen.tokens(prompt=[1, 2, 3, 4, 5, 6], output=[7])
            gen.output(END, finish_reason="stop")
        if reward:
            traj.reward(1.0, components={"format": 0.2, "answer": 0.8})
    return traj.id


def begin_and_die() -> None:
    """A rollout whose process ends in the middle."""
    traj = rs.trajectory(group="g", index=0, step=1)
    traj.__enter__()
    with traj.generation(model="m", messages=MESSAGES) as gen:
        gen.output(END)


def start(bridge: Bridge, worker: Process) -> None:
    """Announce the run."""
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, {v.RUN_CONFIG: '{"lr": 1e-6}'}, priority=0)
    bridge.take(requests(worker.items()))


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


def test_a_missing_record_is_named_after_a_long_silence(bridge: Bridge) -> None:
    """A trajectory that lacks something is held while it may still come, then goes out and says what it lacks."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        items = worker.items()
        lost = next(item for item in items if item.what == "tokens")
        bridge.take(requests([item for item in items if item is not lost]))
        bridge.wait(60)
        assert not bridge.of(Trajectory)
        bridge.wait(600)
        (found,) = bridge.of(Trajectory)
        assert found.incomplete == f"missing: 1 of {len(items)} records"
        bridge.take(requests([lost]))
    (late,) = bridge.of(LateFacts)
    assert (late.trajectory, late.step, len(late.tokens)) == (found.id, 3, 1)
    assert bridge.sources()[worker.producer] == len(items) + 1


def test_a_reward_that_is_missing_and_comes_is_there_once(bridge: Bridge) -> None:
    """The root repeats its value; made from that as well, a backend would show two."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        items = worker.items()
        lost = next(item for item in items if item.what == v.EVENT_REWARD)
        bridge.take(requests([item for item in items if item is not lost]))
        bridge.wait(700)
        (found,) = bridge.of(Trajectory)
        assert found.rewards == []
        bridge.take(requests([lost]))
    (late,) = bridge.of(LateFacts)
    assert [(reward.name, reward.value) for reward in late.rewards] == [("reward", 1.0)]


def test_without_a_root_it_goes_out_incomplete(bridge: Bridge) -> None:
    """A trajectory whose root never came keeps its identity and says that the root is missing."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out()
        bridge.take(requests([item for item in worker.items() if item.sequence != worker.memory.journal.last_sequence]))
        bridge.wait(700)
    (found,) = bridge.of(Trajectory)
    assert (found.id, found.group, found.step) == (trajectory_id, "g", 3)
    assert found.incomplete == "missing: the root span"


def test_a_reward_after_the_end_is_a_late_fact(bridge: Bridge) -> None:
    """A reward from another process, after the trajectory went out, names its trajectory and step; told twice it counts once."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out(reward=False)
        bridge.take(requests(worker.items()))
    with process("00000000000000bb") as judge:
        rs.reward(0.7, trajectory=trajectory_id, name="judge")
        sent = requests(judge.items())
        bridge.take(sent)
        bridge.take(sent)
    (found,) = bridge.of(Trajectory)
    assert found.rewards == []
    (late,) = bridge.of(LateFacts)
    assert (late.trajectory, late.step, [(r.value, r.name) for r in late.rewards]) == (trajectory_id, 3, [(0.7, "judge")])


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


def test_a_reward_waits_long_for_its_trajectory(bridge: Bridge) -> None:
    """When the rollout's node is cut off, rewards from elsewhere wait; the trajectory that comes at last is one, with its reward."""
    with process() as worker:
        start(bridge, worker)
        trajectory_id = roll_out(reward=False)
        spans = requests(worker.items())
    with process("00000000000000bb") as judge:
        rs.reward(0.7, trajectory=trajectory_id, name="judge")
        bridge.take(requests(judge.items()))
    bridge.wait(3600)
    bridge.restart()
    bridge.wait(3600)
    bridge.take(spans)
    assert [found.reward for found in bridge.of(Trajectory)] == [0.7]
    assert not bridge.of(LateFacts)


def test_a_reward_for_nothing_goes_out_with_the_end(bridge: Bridge) -> None:
    """Facts whose trajectory never came are told when the run ends."""
    with process() as worker:
        start(bridge, worker)
        rs.reward(0.7, trajectory="ab" * 16)
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    assert [(found.trajectory, found.rewards[0].value) for found in bridge.of(LateFacts)] == [("ab" * 16, 0.7)]
    assert bridge.store.waiting() == 0


def test_a_long_tool_call_is_no_silence(bridge: Bridge) -> None:
    """While the process says that a span of the trajectory is open, the trajectory waits for it, however long it takes."""
    with process() as worker:
        start(bridge, worker)
        roll_out()
        *items, root = worker.items()
        bridge.take(requests(items))
        trace_id = worker.memory.spans[-1].trace_id
        for _ in range(10):
            bridge.take(requests([worker.heartbeat(spans=[OpenSpan("execute_tool", trace_id, b"s" * 8, 0)])]), seconds=300)
        assert not bridge.of(Trajectory)
        bridge.take(requests([root]))
    assert [found.incomplete for found in bridge.of(Trajectory)] == [""]


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


def test_an_aborted_root_ends_after_quiet_time(bridge: Bridge) -> None:
    """The root that the shipper closed for a dead process makes an aborted trajectory once nothing more comes."""
    with process() as worker:
        start(bridge, worker)
        contextvars.copy_context().run(begin_and_die)
        bridge.take(requests(worker.items()))
        root = next(r for r in worker.memory.started if r.parent_id is None)
        assert isinstance(root, SpanStart)
        aborted = worker._encoder.aborted(root, root.start + 5)
        bridge.take(requests([aborted]), seconds=1)
        bridge.take(requests([aborted]), seconds=1)
        assert not bridge.of(Trajectory)
        bridge.wait(6)
        (found,) = bridge.of(Trajectory)
        assert (found.outcome, found.spans[0].attributes[v.ABORTED], len(found.spans)) == ("aborted", True, 2)
        bridge.take(requests([aborted]), seconds=1)
        assert not bridge.of(Trace)


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


def test_open_trajectories_live_in_the_store(tmp_path: Path) -> None:
    """With next to no memory allowed for parts, many trajectories open at once still come out whole."""
    bridge = Bridge(tmp_path, PipelineSettings(cache_bytes=1))
    with process() as worker:
        start(bridge, worker)
        for index in range(30):
            roll_out(index=index)
        items = worker.items()
    random.Random(1).shuffle(items)
    for start_at in range(0, len(items), 20):
        bridge.take(requests(items[start_at : start_at + 20]))
    found = bridge.of(Trajectory)
    assert sorted(trajectory.index or 0 for trajectory in found) == list(range(30))
    assert all(trajectory.messages == [*MESSAGES, CALL, ANSWER, END] for trajectory in found)
    assert bridge.store.db.execute("SELECT count(*) FROM parts").fetchone() == (0,)
    assert bridge.store.waiting() == 0


def test_a_step_is_a_trace(bridge: Bridge) -> None:
    """A step with its phases goes out as one trace, after a moment for what other processes add to it."""
    with process() as worker:
        start(bridge, worker)
        with rs.step(4), rs.phase("rollout"):
            pass
        bridge.take(requests(worker.items()))
        bridge.wait(6)
    (found,) = bridge.of(Trace)
    assert [span.name for span in found.spans] == [v.SPAN_STEP, v.PHASE_SPANS["rollout"]]
    assert not found.late


def test_a_lone_span_goes_out_at_once(bridge: Bridge) -> None:
    """A root whose process has sent everything before it has nothing to wait for."""
    with process() as worker:
        start(bridge, worker)
        with rs.span("work"):
            pass
        bridge.take(requests(worker.items()))
    assert [trace.spans[0].name for trace in bridge.of(Trace)] == ["work"]


def test_a_huge_trace_goes_out_in_pieces(tmp_path: Path) -> None:
    """A trace that outgrows its limit is sent as it is; what follows is late, and nothing is lost or doubled."""
    bridge = Bridge(tmp_path, PipelineSettings(trace_bytes=2000))
    with process() as worker:
        start(bridge, worker)
        with rs.span("root"):
            for n in range(30):
                with rs.span(f"child {n}", {"text": "x" * 100}):
                    pass
        for request in singly(worker.items()):
            bridge.take([request])
    traces = bridge.of(Trace)
    assert [trace.late for trace in traces] == [False] + [True] * (len(traces) - 1)
    assert sorted(span.name for trace in traces for span in trace.spans) == sorted(["root", *(f"child {n}" for n in range(30))])


def test_the_run_comes_first(bridge: Bridge) -> None:
    """The start of the run is the first record, whatever arrived before."""
    with process("00000000000000bb") as worker:
        roll_out()
        bridge.take(requests(worker.items()))
    assert bridge.records() == []
    with process() as driver:
        start(bridge, driver)
    assert [type(record) for record in bridge.records()] == [RunStarted, Trajectory]
