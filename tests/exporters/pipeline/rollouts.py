"""One rollout as a worker records it, for the tests of what becomes of it."""

from __future__ import annotations

import rollscope as rs
from rollscope import vocabulary as v

from ..bridge import Bridge
from ..wire import Process, requests

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


def start(bridge: Bridge, worker: Process) -> None:
    """Announce the run."""
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, {v.RUN_CONFIG: '{"lr": 1e-6}'}, priority=0)
    bridge.take(requests(worker.items()))
