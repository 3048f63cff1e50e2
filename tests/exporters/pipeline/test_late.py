"""What comes when its trace has gone out."""

from __future__ import annotations

from pathlib import Path

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import LateFacts, Trace, Trajectory

from ..bridge import Bridge
from ..wire import process, requests, singly
from .rollouts import roll_out, start


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
