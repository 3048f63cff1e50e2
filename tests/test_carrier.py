"""Carrying the current place to other processes, threads and tasks."""

import json
import multiprocessing
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from opentelemetry import baggage, context

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.recorder import current_span
from rollscope.testing import memory_recorder


def carried():
    """Return a carrier from within a turn, and the ids it should carry."""
    place = {"group": "task 17, 重", "index": 3, "agent": "a"}
    with memory_recorder(), rs.step(12, policy_version=11), rs.trajectory(**place) as traj, traj.turn(2) as turn:
        return json.loads(json.dumps(rs.carrier())), traj, turn


def test_another_process_continues_the_trajectory():
    """Spans join the trace with the whole identity; the reward finds its trajectory; the carrier fits any header."""
    carrier, traj, turn = carried()
    assert {type(value) for value in carrier.values()} == {str}
    assert carrier["traceparent"] == f"00-{traj.id}-{turn.span.span_id.hex()}-01"
    assert all(value.isascii() for value in carrier.values())
    with memory_recorder() as memory, rs.attach(carrier), rs.tool("f"):
        rs.reward(0.5)
    tool = memory.span("execute_tool f")
    assert (tool.trace_id.hex(), tool.parent_id) == (traj.id, turn.span.span_id)
    identity = {
        v.STEP_INDEX: 12,
        v.GROUP_ID: "task 17, 重",
        v.TRAJECTORY_INDEX: 3,
        v.TRAJECTORY_ID: traj.id,
        v.POLICY_VERSION: 11,
        v.TURN_INDEX: 2,
    }
    assert tool.attributes.items() >= identity.items()
    reward = memory.event(v.EVENT_REWARD)
    assert (reward.trace_id.hex(), reward.attributes[v.TRAJECTORY_ID]) == (traj.id, traj.id)
    assert [span.name for span in memory.spans] == ["execute_tool f"]


def test_a_generation_elsewhere_is_whole_in_itself():
    """What the trajectory holds is known only where it began: elsewhere a model call has no place in its context."""
    carrier, *_ = carried()
    with memory_recorder() as memory, rs.attach(carrier), rs.turn(), rs.generation("m", messages="q") as gen:
        gen.tokens(prompt=[1], output=[2])
        gen.output("a")
    chat = memory.span("chat m").attributes
    assert (chat[v.MESSAGES_KEPT], v.CONTEXT_INDEX in chat, chat[v.TURN_INDEX]) == (0, False, 3)


def test_a_worker_continues_the_step():
    """A carrier taken in a step gives its number, its policy version and its span to link to."""
    with memory_recorder() as memory:
        with rs.step(12, policy_version=11), rs.phase("rollout"):
            carrier = rs.carrier()
        step = memory.span(v.SPAN_STEP)
    with memory_recorder() as worker, rs.attach(carrier):
        with rs.trajectory(group="g", index=0):
            rs.log({"a": 1})
        with rs.span("inside"):
            pass
    root, inside = worker.span("invoke_agent"), worker.span("inside")
    assert (root.attributes[v.STEP_INDEX], root.attributes[v.POLICY_VERSION]) == (12, 11)
    assert root.links == [(step.trace_id, step.span_id, {})]
    assert root.parent_id is None
    assert (inside.trace_id, inside.attributes[v.STEP_INDEX]) == (step.trace_id, 12)
    assert worker.event(v.EVENT_STEP_METRICS).attributes[v.STEP_INDEX] == 12


def test_after_attach_everything_is_as_before(rollscope_memory):
    """Nothing stays current, no baggage of ours stays behind, the program's own baggage travels."""
    token = context.attach(baggage.set_baggage("tenant", "x"))
    try:
        with rs.trajectory(group="g", index=1, step=1) as traj:
            carrier = rs.carrier()
    finally:
        context.detach(token)
    with rs.attach(carrier):
        assert baggage.get_all() == {"tenant": "x"}
        assert rs.carrier()["traceparent"].split("-")[1] == traj.id
    assert current_span() is None
    assert baggage.get_all() == {}


def test_a_carrier_of_a_foreign_program(rollscope_memory):
    """A `traceparent` alone makes a parent; header names may be in any case; nonsense is nothing."""
    parent = {"Traceparent": "00-0123456789abcdef0123456789abcdef-0123456789abcdef-00"}
    with rs.attach(parent), rs.span("a"):
        pass
    with rs.attach({"traceparent": "zz", "baggage": "%%%,rl.step.index=x,rl.step.span=1"}), rs.span("b"):
        pass
    with rs.attach({}), rs.span("c"):
        pass
    assert rollscope_memory.span("a").trace_id.hex() == "0123456789abcdef0123456789abcdef"
    assert rollscope_memory.span("b").parent_id is None
    assert rollscope_memory.span("c").attributes == {}


async def test_an_object_can_be_made_current_in_another_thread(rollscope_memory):
    """A thread attaches the trajectory, or a callable is bound to the context it was made in."""

    def work():
        with rs.tool("f"):
            pass

    with rs.trajectory(agent="a") as traj:

        def attached():
            with rs.attach(traj):
                work()

        thread = threading.Thread(target=attached)
        thread.start()
        thread.join()
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(rs.in_context(lambda _: work()), range(4)))
        async with rs.attach(traj):
            work()
    assert {span.trace_id.hex() for span in rollscope_memory.spans} == {traj.id}
    assert [span.name for span in rollscope_memory.spans] == [*["execute_tool f"] * 6, "invoke_agent a"]


@pytest.mark.parametrize("of", ["trajectory", "turn", "span"])
def test_a_carrier_of_an_object(rollscope_memory, of):
    """The place need not be current to be carried."""
    traj = rs.trajectory()
    place = {"trajectory": traj, "turn": traj.turn(), "span": traj.span}[of]
    span = place if of == "span" else place.span
    assert rs.carrier(place)["traceparent"] == f"00-{traj.id}-{span.span_id.hex()}-01"


def _child(carrier, queue):
    with memory_recorder() as memory, rs.attach(carrier), rs.tool("f"):
        rs.reward(1.0)
    queue.put((memory.span("execute_tool f").trace_id.hex(), memory.event(v.EVENT_REWARD).attributes[v.TRAJECTORY_ID]))


def test_a_spawned_process(rollscope_memory):
    """The carrier reaches a real process."""
    mp = multiprocessing.get_context("spawn")
    queue = mp.Queue()
    with rs.trajectory() as traj:
        child = mp.Process(target=_child, args=(rs.carrier(), queue))
        child.start()
        assert queue.get(timeout=60) == (traj.id, traj.id)
        child.join()
