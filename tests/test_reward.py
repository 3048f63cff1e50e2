"""Rewards and late facts."""

import math

import numpy as np
import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.testing import memory_recorder

ID = "0123456789abcdef0123456789abcdef"


def test_a_reward_is_recorded_at_once_and_shown_on_the_root(rollscope_memory):
    """The event is there before the trajectory ends; the root shows the last reward."""
    with rs.trajectory(step=1, group="g", index=0) as traj:
        traj.reward(np.float32(0.5), components={"format": 0.25, "answer": np.float64(0.75)}, name="rule", explanation="ok")
        event = rollscope_memory.event(v.EVENT_REWARD)
        rs.reward(1.0, name="judge")
    own = {
        v.REWARD_VALUE: 0.5,
        v.REWARD_SOURCE_NAME: "rule",
        v.REWARD_COMPONENTS: {"format": 0.25, "answer": 0.75},
        v.REWARD_EXPLANATION: "ok",
    }
    assert event.attributes.items() >= own.items()
    assert event.attributes.items() >= {v.TRAJECTORY_ID: traj.id, v.STEP_INDEX: 1, v.GROUP_ID: "g"}.items()
    assert (event.trace_id.hex(), event.span_id) == (traj.id, traj.span.span_id)
    root = rollscope_memory.span("invoke_agent").attributes
    assert (root[v.REWARD_VALUE], root[v.REWARD_SOURCE_NAME]) == (1.0, "judge")


def test_a_late_reward_names_its_trajectory(rollscope_memory):
    """Any process can give it by the id alone; after the end, by the object too."""
    rs.reward(-math.inf, trajectory=ID)
    with rs.trajectory() as traj:
        pass
    traj.reward(2.0)
    first, second = rollscope_memory.events
    assert (first.trace_id, first.attributes[v.TRAJECTORY_ID], first.attributes[v.REWARD_VALUE]) == (bytes.fromhex(ID), ID, -math.inf)
    assert (second.trace_id.hex(), second.attributes[v.TRAJECTORY_ID]) == (traj.id, traj.id)


def test_facts_have_their_names(rollscope_memory):
    """What trainers know has attribute names, everything else the user's own; None is not told."""
    rs.facts(
        {"kl": np.float32(0.5)}, trajectory=ID, advantage=1, filtered="zero variance", trained_step=13, trained_version=12, bucket="long"
    )
    event = rollscope_memory.event(v.EVENT_FACTS)
    assert event.attributes == {
        v.TRAJECTORY_ID: ID,
        v.FACTS: {
            "kl": 0.5, "bucket": "long", v.ADVANTAGE_VALUE: 1, v.TRAJECTORY_FILTERED: "zero variance", v.TRAINED_STEP: 13,
            v.TRAINED_VERSION: 12,
        },
    }  # fmt: skip


def test_facts_of_the_current_trajectory(rollscope_memory):
    """Without a name it is the current one, or the object's own."""
    with rs.trajectory() as traj:
        rs.facts(advantage=0.5)
        traj.facts(bucket="x")
    assert [event.attributes[v.FACTS] for event in rollscope_memory.events] == [{v.ADVANTAGE_VALUE: 0.5}, {"bucket": "x"}]


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        (lambda: rs.reward("high", trajectory=ID), "reward"),
        (lambda: rs.reward(None, trajectory=ID), "reward"),
        (lambda: rs.reward(1.0, trajectory="task-17"), "reward"),
        (lambda: rs.reward(1.0), "reward"),
        (lambda: rs.facts(trajectory="xyz", advantage=1.0), "facts"),
    ],
)
def test_a_wrong_reward_is_counted_not_raised(call, reason):
    """A mistake costs the record, never the training."""
    with memory_recorder(strict=False) as memory:
        call()
    assert memory.events == []
    assert memory.journal.failed == {reason: 1}


def test_a_component_that_is_no_number_is_left_out(rollscope_memory):
    """The reward and the other components stay."""
    rs.reward(1.0, trajectory=ID, components={"a": 1, "b": "x"})
    assert rollscope_memory.events[0].attributes[v.REWARD_COMPONENTS] == {"a": 1.0}
    assert rollscope_memory.journal.truncated == {"not_scalar": 1}
