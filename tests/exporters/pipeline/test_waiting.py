"""How long an open trace waits for what may still come."""

from __future__ import annotations

import contextvars

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.records import SpanStart
from rollscope.shipper.otlp import OpenSpan
from rollscope_exporters.records import LateFacts, Trace, Trajectory

from ..bridge import Bridge
from ..wire import process, requests
from .rollouts import END, MESSAGES, roll_out, start


def begin_and_die() -> None:
    """A rollout whose process ends in the middle."""
    traj = rs.trajectory(group="g", index=0, step=1)
    traj.__enter__()
    with traj.generation(model="m", messages=MESSAGES) as gen:
        gen.output(END)


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
