"""Trajectories in forked children."""

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
