"""Hooks on finished trajectories."""

import threading

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.background import background
from rollscope.hooks import run_hooks


@pytest.fixture(autouse=True)
def _no_hook_stays():
    yield
    for name in ("a", "b"):
        rs.unregister_trace_hook(name)


def rollout():
    with rs.trajectory(step=1, group="g", index=2, agent="x", policy_version=3) as traj:
        with traj.turn(), traj.generation("m", messages=[{"role": "system", "content": "s"}, {"role": "user", "content": "2+2?"}]) as gen:
            gen.tokens(prompt=[1, 2], output=[3])
            gen.output({"role": "assistant", "content": "4"})
        traj.reward(0.5, components={"format": 1.0})
    return traj


def test_a_hook_sees_the_whole_trajectory_and_adds_facts(rollscope_memory):
    """Prompt, generation, messages, reward, metrics and ids are there; added keys are recorded, outside the caller's thread."""
    seen = []

    @rs.register_trace_hook("a")
    def risk(data):
        seen.append((dict(data), threading.current_thread()))
        data["risk_score"] = len(data["generation"])
        data["metrics"]["words"] = 1
        return data

    traj = rollout()
    assert background.drain(5) == 0
    ((data, thread),) = seen
    assert thread is not threading.current_thread()
    assert (data["prompt"], data["generation"], data["reward"], data["outcome"]) == ("2+2?", "4", 0.5, "completed")
    assert [message["role"] for message in data["messages"]] == ["system", "user", "assistant"]
    assert (data["id"], data["run"], data["step"], data["group"], data["index"], data["policy_version"]) == (traj.id, "run", 1, "g", 2, 3)
    assert data["metrics"].items() >= {"turns": 1, "generations": 1, "input_tokens": 2, "output_tokens": 1, "format": 1.0}.items()
    facts = rollscope_memory.event(v.EVENT_FACTS)
    assert facts.attributes[v.FACTS] == {"words": 1, "risk_score": 1}
    assert facts.trace_id.hex() == traj.id


def test_a_hook_that_raises_is_counted_and_the_others_run(rollscope_memory):
    """Its name says whose error it was."""

    @rs.register_trace_hook("a")
    def broken(data):
        raise KeyError("generation")

    @rs.register_trace_hook("b")
    def works(data):
        return {**data, "ok": True}

    rollout()
    background.drain(5)
    assert rollscope_memory.journal.failed == {"hook:a": 1}
    assert rollscope_memory.event(v.EVENT_FACTS).attributes[v.FACTS] == {"ok": True}


def test_hooks_run_in_order_and_need_not_return():
    """Each sees what the one before returned; changing the dict in place is enough."""

    @rs.register_trace_hook("a")
    def first(data):
        data["x"] = 1

    @rs.register_trace_hook("b")
    def second(data):
        return {"y": data["x"] + 1}

    assert run_hooks({"id": "1"}) == {"x": 1, "y": 2}


def test_a_finished_run_has_the_facts_of_its_hooks():
    """What waits is done before the journal closes."""
    from rollscope.testing import memory_recorder

    @rs.register_trace_hook("a")
    def add(data):
        return {**data, "x": 1}

    with memory_recorder() as memory:
        rollout()
        memory.recorder.settle()
        assert memory.event(v.EVENT_FACTS).attributes[v.FACTS] == {"x": 1}


def test_without_a_hook_no_message_is_kept(rollscope_memory):
    """A trajectory keeps its messages only for hooks that were there when it began."""
    traj = rollout()

    @rs.register_trace_hook("a")
    def late(data):
        return {**data, "x": 1}

    assert traj.conversation.messages == []
    assert background.drain(5) == 0
    assert all(event.name != v.EVENT_FACTS for event in rollscope_memory.events)
