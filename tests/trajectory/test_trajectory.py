"""Trajectories: identity, outcome, parents, counts."""

import asyncio
import gc
import threading
import weakref
from contextlib import nullcontext

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.identity import Run
from rollscope.ids import trajectory_trace_id


def ended(memory, id):
    """Return all numbered records of a trace."""
    return [record for record in memory.records if getattr(record, "trace_id", None) == id and type(record).__name__ != "SpanStart"]


def test_a_trajectory_is_a_trace_of_its_own_linked_to_its_step(rollscope_memory):
    """Its trace id follows from its coordinates, its root has no parent, the step's span is its link, every span says who it is."""
    with (
        rs.step(12),
        rs.phase("rollout"),
        rs.trajectory(group="task-17", index=3, policy_version=11, agent="airline", group_size=8, sample_id=7, metadata={"k": 1}) as traj,
        rs.span("inside"),
    ):
        pass
    step, root, inside = rollscope_memory.span(v.SPAN_STEP), rollscope_memory.span("invoke_agent airline"), rollscope_memory.span("inside")
    assert root.trace_id == trajectory_trace_id("run", step=12, group="task-17", index=3)
    assert root.trace_id.hex() == traj.id
    assert root.parent_id is None
    assert root.links == [(step.trace_id, step.span_id, {})]
    identity = {
        v.STEP_INDEX: 12, v.GROUP_ID: "task-17", v.TRAJECTORY_INDEX: 3, v.TRAJECTORY_ATTEMPT: 0, v.POLICY_VERSION: 11,
        v.SPLIT_NAME: "train", v.TRAJECTORY_ID: traj.id,
    }  # fmt: skip
    assert inside.attributes == identity
    assert root.attributes == identity | {
        v.GEN_AI_OPERATION_NAME: "invoke_agent", v.GEN_AI_AGENT_NAME: "airline", v.GEN_AI_CONVERSATION_ID: traj.id, v.GROUP_SIZE: 8,
        v.SAMPLE_ID: "7", "k": 1, v.TRAJECTORY_OUTCOME: "completed", v.TRAJECTORY_TURN_COUNT: 0, v.TRAJECTORY_RECORD_COUNT: 2,
    }  # fmt: skip


def test_the_step_can_be_named_in_a_worker(rollscope_memory):
    """Without a step around it the number makes the same trace id, without a link."""
    with rs.trajectory(step=12, group="g", index=0, split="validation") as traj:
        pass
    assert bytes.fromhex(traj.id) == trajectory_trace_id("run", step=12, group="g", index=0, split="validation")
    assert rollscope_memory.span("invoke_agent").links is None


@pytest.mark.parametrize("coordinates", [{}, {"group": "g", "index": 1}, {"step": 1, "group": "g"}, {"step": 1, "index": 1}])
def test_without_all_coordinates_the_trace_id_is_random(rollscope_memory, coordinates):
    """Two trajectories that cannot be told apart by their coordinates do not share a trace."""
    first, second = rs.trajectory(**coordinates), rs.trajectory(**coordinates)
    assert first.id != second.id
    assert rollscope_memory.journal.truncated == {}


def test_the_same_coordinates_again_are_the_next_attempt(rollscope_memory):
    """A repetition gets a trace of its own and is counted once a time."""
    made = [rs.trajectory(step=1, group="g", index=2) for _ in range(3)]
    other = rs.trajectory(step=1, group="g", index=2, attempt=7)
    assert [traj.coordinates.attempt for traj in (*made, other)] == [0, 1, 2, 7]
    assert len({traj.id for traj in made}) == 3
    assert rollscope_memory.journal.truncated == {"repeated_trajectory": 2}


def test_a_restarted_run_makes_other_trajectories():
    """What a run does again after its restart is not what it did before: the run's attempt is part of the trace id."""
    ids = []
    for attempt in range(2):
        with rs.testing.memory_recorder(run=Run("run", "e", "p", attempt)):
            ids.append(rs.trajectory(step=1, group="g", index=0).id)
    assert ids[0] == trajectory_trace_id("run", step=1, group="g", index=0).hex()
    assert ids[1] == trajectory_trace_id("run/1", step=1, group="g", index=0).hex()


def test_outcomes(rollscope_memory):
    """`completed` unless said otherwise; what ends it early says more than what was said before."""

    def run(agent, error=None, said=None):
        with pytest.raises(type(error)) if error else nullcontext(), rs.trajectory(agent=agent) as traj:
            if said:
                traj.outcome(said)
            if error:
                raise error
        return rollscope_memory.span(f"invoke_agent {agent}")

    assert run("a").attributes[v.TRAJECTORY_OUTCOME] == "completed"
    assert run("b", said="truncated").attributes[v.TRAJECTORY_OUTCOME] == "truncated"
    failed = run("c", ValueError("x"), "truncated")
    assert (failed.attributes[v.TRAJECTORY_OUTCOME], failed.status) == ("failed", 2)
    cancelled = run("d", asyncio.CancelledError())
    assert (cancelled.attributes[v.TRAJECTORY_OUTCOME], cancelled.status, cancelled.attributes[v.CANCELLED]) == ("cancelled", 0, True)
    assert run("e", KeyboardInterrupt()).attributes[v.TRAJECTORY_OUTCOME] == "aborted"


def test_a_rollout_whose_generator_is_closed_is_aborted(rollscope_memory):
    """A consumer that stops iterating ends the rollout early; nothing failed."""

    def rollout():
        with rs.trajectory(agent="a"):
            yield 1

    iteration = rollout()
    next(iteration)
    iteration.close()
    root = rollscope_memory.span("invoke_agent a")
    assert (root.attributes[v.TRAJECTORY_OUTCOME], root.status) == ("aborted", 0)


async def test_a_cancelled_rollout(rollscope_memory):
    """Every open span of a cancelled task is marked, none is an error."""

    async def rollout():
        async with rs.trajectory(agent="a") as traj, traj.turn(), traj.generation():
            await asyncio.sleep(60)

    task = asyncio.create_task(rollout())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(span.status, span.attributes[v.CANCELLED]) for span in rollscope_memory.spans] == [(0, True)] * 3


def test_the_root_counts_the_records_of_its_trace(rollscope_memory):
    """Spans, token segments, rewards and events count, the root included; what another trace wrote does not."""
    with rs.trajectory(agent="a") as traj:
        rs.log({"a": 1})
        with traj.turn() as turn, turn.generation() as gen:
            gen.tokens(prompt=[1], output=[2])
            gen.output("x")
        rs.event("e")
        traj.reward(1.0)
    root = rollscope_memory.span("invoke_agent a")
    assert root.attributes[v.TRAJECTORY_RECORD_COUNT] == 7 == len(ended(rollscope_memory, root.trace_id))


def test_usage_and_turns_are_summed(rollscope_memory):
    """The root has the tokens of all generations and the number of turns; without turns, of generations."""
    with rs.trajectory(agent="a") as traj:
        for n in range(2):
            with traj.turn() as turn, turn.generation() as gen:
                gen.usage(input_tokens=10, output_tokens=n)
            assert turn.index == n
    with rs.trajectory(agent="b") as traj, traj.generation() as gen:
        gen.tokens(prompt=[1, 2], output=[3])
    first, second = (rollscope_memory.span(f"invoke_agent {agent}").attributes for agent in "ab")
    assert (first[v.GEN_AI_USAGE_INPUT_TOKENS], first[v.GEN_AI_USAGE_OUTPUT_TOKENS], first[v.TRAJECTORY_TURN_COUNT]) == (20, 1, 2)
    assert (second[v.GEN_AI_USAGE_INPUT_TOKENS], second[v.GEN_AI_USAGE_OUTPUT_TOKENS], second[v.TRAJECTORY_TURN_COUNT]) == (2, 1, 1)


def test_module_functions_act_on_the_current_trajectory(rollscope_memory):
    """`rs.turn`, `rs.generation`, `rs.tool`, `rs.reward`, `rs.set` need no object."""
    with rs.trajectory(agent="a") as traj, rs.turn(), rs.generation("m", temperature=0.7, seed=1), rs.tool("f", call_id="c"):
        rs.reward(0.5)
        rs.set(note="here")
    root, turn, chat, tool = (rollscope_memory.span(name) for name in ("invoke_agent a", "rl.turn", "chat m", "execute_tool f"))
    assert [turn.parent_id, chat.parent_id, tool.parent_id] == [root.span_id, turn.span_id, chat.span_id]
    assert {span.trace_id.hex() for span in (root, turn, chat, tool)} == {traj.id}
    assert root.attributes[v.REWARD_VALUE] == 0.5
    assert tool.attributes["note"] == "here"
    assert (chat.attributes["gen_ai.request.temperature"], chat.attributes["gen_ai.request.seed"], chat.kind) == (0.7, 1, 3)
    assert chat.attributes[v.TURN_INDEX] == tool.attributes[v.TURN_INDEX] == 0


def test_without_a_trajectory_the_parts_are_plain_spans(rollscope_memory):
    """A judge's model call outside a trajectory is recorded whole."""
    with rs.span("judge"), rs.turn(4), rs.generation("m", messages="score it") as gen:
        gen.tokens(prompt=[1], output=[2])
        gen.output("7")
    chat = rollscope_memory.span("chat m")
    assert (chat.attributes[v.MESSAGES_KEPT], chat.attributes[v.TURN_INDEX]) == (0, 4)
    assert v.CONTEXT_INDEX not in chat.attributes
    assert len(rollscope_memory.tokens) == 2
    with pytest.raises(LookupError, match="no trajectory is current"):
        rs.reward(1.0)


def test_many_threads_on_one_trajectory(rollscope_memory):
    """Threads without a context use the object: all spans are in its trace, turn numbers are used once, nothing is lost."""

    def work(traj):
        for _ in range(20):
            with traj.turn() as turn, turn.generation(messages=[{"role": "user", "content": "x"}]) as gen:
                gen.tokens(prompt=[1, 2, 3], output=[4])
                gen.output("y")

    with rs.trajectory(agent="a") as traj:
        threads = [threading.Thread(target=work, args=(traj,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    root = rollscope_memory.span("invoke_agent a")
    turns = [span.attributes[v.TURN_INDEX] for span in rollscope_memory.spans if span.name == "rl.turn"]
    numbers = [span.attributes[v.CONTEXT_INDEX] for span in rollscope_memory.spans if span.name == "chat"]
    assert sorted(turns) == sorted(numbers) == list(range(80))
    assert root.attributes[v.TRAJECTORY_RECORD_COUNT] == len(ended(rollscope_memory, root.trace_id)) == 80 * 4 + 1


async def test_many_tasks_each_with_a_trajectory(rollscope_memory):
    """Concurrent rollouts in one event loop do not mix."""

    async def rollout(index):
        async with rs.trajectory(group="g", index=index) as traj:
            async with rs.turn():
                await asyncio.sleep(0)
                async with rs.tool("f"):
                    await asyncio.sleep(0)
            rs.reward(float(index))
            return traj.id

    async with rs.step(1):
        ids = await asyncio.gather(*(rollout(index) for index in range(10)))
    for index, id in enumerate(ids):
        spans = [span for span in rollscope_memory.spans if span.trace_id.hex() == id]
        assert {span.attributes[v.TRAJECTORY_INDEX] for span in spans} == {index}
        assert len(spans) == 3
        assert spans[-1].attributes[v.REWARD_VALUE] == float(index)


def test_a_trajectory_can_be_ended_without_with(rollscope_memory):
    """Callbacks that cannot use `with` begin and end it by hand; parts find their place without being current."""
    traj = rs.trajectory(agent="a")
    turn = traj.turn()
    tool = turn.tool("f")
    tool.end()
    turn.end()
    traj.end()
    traj.end(ValueError("too late"))
    root = rollscope_memory.span("invoke_agent a")
    assert rollscope_memory.span("execute_tool f").parent_id == rollscope_memory.span("rl.turn").span_id
    assert root.status == 0


def test_a_wrong_argument_is_counted_not_raised():
    """A rollout goes on with an object that does nothing."""
    with rs.testing.memory_recorder(strict=False) as memory, rs.trajectory(step=1, group="g", index="three") as traj:
        assert traj.id == ""
    assert memory.journal.failed == {"trajectory": 1}


def test_an_ended_trajectory_is_light(rollscope_memory):
    """It holds neither messages nor ids nor a cycle that only the garbage collector could free; late rewards work, late calls are whole."""
    gc.disable()
    try:
        with rs.trajectory() as traj, traj.generation(messages=[{"role": "user", "content": "x"}]) as gen:
            gen.tokens(prompt=[1, 2], output=[3])
        traj.reward(1.0)
        with traj.generation(messages=[{"role": "user", "content": "x"}]) as gen:
            gen.tokens(prompt=[1, 2])
        assert [segment.kept for segment in rollscope_memory.tokens] == [0, 2, 0]
        assert rollscope_memory.spans[-1].attributes[v.MESSAGES_KEPT] == 0
        alive = weakref.ref(traj.conversation)
        del traj, gen
        assert alive() is None
    finally:
        gc.enable()
