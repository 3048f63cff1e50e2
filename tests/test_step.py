"""Steps and phases."""

import asyncio
import threading

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from tests.forks import in_child


def durations(memory):
    return [event.attributes[v.METRICS] for event in memory.events if event.name == v.EVENT_STEP_METRICS]


def test_a_step_is_a_trace_of_its_own_with_its_phases(rollscope_memory):
    """The step is a root even inside another span; phases are below it and everything carries the step's number."""
    with rs.span("outer"), rs.step(12, epoch=1, policy_version=11):
        with rs.phase("rollout"), rs.phase("tokenize"):
            pass
        with rs.span("mine"):
            pass
    step = rollscope_memory.span(v.SPAN_STEP)
    rollout, tokenize, mine = (rollscope_memory.span(name) for name in (v.phase_span("rollout"), "rl.tokenize", "mine"))
    assert step.parent_id is None
    assert [span.parent_id for span in (rollout, mine, tokenize)] == [step.span_id, step.span_id, rollout.span_id]
    assert {span.attributes[v.STEP_INDEX] for span in (step, rollout, tokenize, mine)} == {12}
    assert (mine.attributes[v.EPOCH_INDEX], mine.attributes[v.POLICY_VERSION]) == (1, 11)
    assert rollout.attributes[v.PHASE_NAME] == "rollout"


def test_durations_are_one_record_at_the_end_of_the_step(rollscope_memory):
    """Phases are timed in seconds, a repeated one in sum, beside the whole step."""
    clock = rollscope_memory.clock
    with rs.step(3):
        for _ in range(2):
            with rs.phase("reward"):
                clock.advance(0.5)
        clock.advance(1)
    assert durations(rollscope_memory) == [{"phase_s/reward": 1.0, "phase_s/step": 2.0}]


def test_a_phase_of_a_step_that_runs_elsewhere(rollscope_memory):
    """In a worker the phase is named by its step's number and logs its own time."""
    with rs.phase("rollout", step=9):
        rollscope_memory.clock.advance(2)
    assert rollscope_memory.span(v.phase_span("rollout")).attributes[v.STEP_INDEX] == 9
    assert rollscope_memory.event(v.EVENT_STEP_METRICS).attributes == {v.METRICS: {"phase_s/rollout": 2.0}, v.STEP_INDEX: 9}


def test_threads_without_a_context_belong_to_the_open_step(rollscope_memory):
    """A thread inherits no context; its phases, scalars and trajectories find the step of the process."""

    def work():
        rs.log({"a": 1})
        with rs.phase("reward"), rs.trajectory(group="g", index=0):
            pass

    with rs.step(5) as step:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        with step.phase("values"):
            pass
    assert {span.attributes[v.STEP_INDEX] for span in rollscope_memory.spans} == {5}
    assert set(durations(rollscope_memory)[-1]) == {"phase_s/reward", "phase_s/values", "phase_s/step"}
    assert rollscope_memory.span("invoke_agent").links[0][1] == rollscope_memory.span(v.SPAN_STEP).span_id


async def test_overlapping_steps_in_tasks_keep_apart(rollscope_memory):
    """Two steps at once (one-step off-policy) do not mix where each has a task."""

    async def run(index):
        async with rs.step(index):
            await asyncio.sleep(0)
            async with rs.phase("rollout"):
                await asyncio.sleep(0)
            rs.log({"a": index})

    await asyncio.gather(run(1), run(2))
    found = [(event.attributes[v.STEP_INDEX], event.attributes[v.METRICS].get("a")) for event in rollscope_memory.events]
    assert sorted(found, key=str) == [(1, 1), (1, None), (2, 2), (2, None)]


def test_an_exception_in_a_step_is_recorded_and_goes_on(rollscope_memory):
    """Step and phase end as errors, the step is not current any more."""
    with pytest.raises(ValueError, match="nan"), rs.step(1), rs.phase("update_actor"):
        raise ValueError("nan loss")
    assert [span.status for span in rollscope_memory.spans] == [2, 2]
    rs.log({"a": 1})
    assert v.STEP_INDEX not in rollscope_memory.events[-1].attributes


def test_a_step_can_be_ended_without_with(rollscope_memory):
    """`end` alone does it; a second one does nothing."""
    step = rs.step(8)
    step.end()
    step.end()
    assert len(rollscope_memory.spans) == 1
    assert len(durations(rollscope_memory)) == 1


def test_a_wrong_number_is_counted_not_raised():
    """The loop goes on with an object that does nothing."""
    with rs.testing.memory_recorder(strict=False) as memory, rs.step("twelve") as step:
        step.log({"a": 1})
    assert memory.journal.failed == {"step": 1}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_that_leaves_an_inherited_step_records_none_of_it(rollscope_memory):
    """Step and phase are the parent's, as are their times: the child's would be others, under the same names."""

    def leave():
        before = len(rollscope_memory.records)
        phase.__exit__(None, None, None)
        step.__exit__(None, None, None)
        return [type(record).__name__ for record in rollscope_memory.records[before:]]

    with rs.step(3) as step, rs.phase("rollout") as phase:
        assert in_child(leave) == []
    assert rollscope_memory.event(v.EVENT_STEP_METRICS).attributes[v.METRICS].keys() == {"phase_s/rollout", "phase_s/step"}


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_phase_in_a_forked_worker_logs_its_own_time(rollscope_memory):
    """The child belongs to the step but cannot add to the parent's record."""

    def work():
        with rs.phase("reward"):
            rollscope_memory.clock.advance(1)
        return [event.attributes for event in rollscope_memory.events]

    with rs.step(6):
        found = in_child(work)
    assert found == [{v.METRICS: {"phase_s/reward": 1.0}, v.STEP_INDEX: 6}]
    assert list(durations(rollscope_memory)[-1]) == ["phase_s/step"]
