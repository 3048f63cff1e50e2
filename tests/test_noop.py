"""The object that stands for everything where nothing is recorded."""

import copy
import pickle

import pytest
from opentelemetry.trace import Span

import rollscope as rs
from rollscope.noop import NOOP


def test_it_has_every_public_name_of_what_it_stands_for():
    """Code that runs with a run runs without one."""
    kinds = [rs.Span, rs.Step, rs.Phase, rs.Trajectory, rs.Turn, rs.Generation, rs.Tool]
    used = {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    # Of the recorder's own span, and what the parts of a trajectory have for each other.
    inner = {name for name in dir(rs.Span) if name not in dir(Span)} | {
        "add_usage",
        "conversation",
        "coordinates",
        "here",
        "rewards",
        "stream",
    }
    assert used - inner - set(dir(NOOP)) == set()


async def test_a_whole_rollout_without_a_run():
    """The whole face of a trajectory works and leaves nothing."""
    async with rs.step(1), rs.phase("rollout"), rs.trajectory(group="g", index=0) as traj:
        async with traj.turn(), traj.generation(model="m", messages=iter(())) as gen:
            gen.tokens(prompt=object(), output=[1])
            gen.output("x", finish_reason="stop")
            gen.usage(input_tokens=1)
        with rs.turn(), rs.generation(), rs.tool("f") as tool:
            tool.result(1)
            tool.error("x")
        traj.reward(1.0)
        traj.facts(a=1)
        traj.outcome("truncated")
        traj.set(a=1)
        traj.span.set_attribute("a", 1)
        traj.event("e")
    rs.reward(1.0, trajectory=traj.id)
    rs.facts(trajectory=traj.id, advantage=1.0)
    rs.table("t", [{}])
    rs.artifact("/nowhere")
    assert rs.carrier(traj) == {}
    with rs.attach(traj):
        pass


@pytest.mark.parametrize("copied", [copy.deepcopy, copy.copy, lambda value: pickle.loads(pickle.dumps(value))])
def test_it_stays_one_object(copied):
    """Copies and pickles of it are itself."""
    assert copied(NOOP) is NOOP
