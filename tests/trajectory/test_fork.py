"""Trajectories in forked children."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from tests.forks import in_child

pytestmark = pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")


def test_a_child_continues_its_parents_trajectory(rollscope_memory):
    """Its records are in the same trace; its generations are whole in themselves; the root is the parent's to end."""

    def work():
        with rs.generation("m", messages="q") as gen:
            gen.output("a")
        rs.reward(0.5)
        traj.end()
        return [
            (span.name, span.trace_id.hex(), span.attributes[v.MESSAGES_KEPT], v.CONTEXT_INDEX in span.attributes)
            for span in rollscope_memory.spans
        ], [event.attributes[v.TRAJECTORY_ID] for event in rollscope_memory.events]

    with rs.trajectory(agent="a") as traj:
        with rs.generation("m", messages="q"):
            pass
        spans, rewards = in_child(work)
    assert spans == [["chat m", traj.id, 0, False]]
    assert rewards == [traj.id]
    root = rollscope_memory.span("invoke_agent a")
    assert root.attributes[v.TRAJECTORY_RECORD_COUNT] == 2
    assert v.REWARD_VALUE not in root.attributes


def test_a_child_leaves_a_trajectory_that_a_thread_of_the_parent_records_into(rollscope_memory):
    """Whoever holds the locks of its conversation and tokens is not in the child."""

    def work():
        signal.alarm(20)  # ends a child that waits for ever
        traj.end()
        return "left"

    traj = rs.trajectory(agent="a")
    with ThreadPoolExecutor(1) as threads:
        held, over = threading.Event(), threading.Event()

        def hold():
            with traj.conversation._lock, traj.stream.lock, traj._lock:
                held.set()
                over.wait()

        holding = threads.submit(hold)
        held.wait()
        try:
            assert in_child(work) == "left"
        finally:
            over.set()
        holding.result()
    traj.end()
