"""Which trajectories a destination gets."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.records import Reward, Span, Trajectory
from rollscope_exporters.sampling import PER_STEP, SAMPLE_RATE, Sampler, is_error

drawn_rollouts = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 9), st.none() | st.floats(-1, 1), st.booleans()), max_size=120)


def rollout(step: int | None, group: int, index: int = 0, *, reward: float | None = None, failed: bool = False) -> Trajectory:
    return Trajectory(
        run="r",
        id=f"{step}-{group}-{index}",
        start=0,
        end=1,
        step=step,
        group=f"g{group}",
        outcome="failed" if failed else "completed",
        spans=[],
        rewards=[] if reward is None else [Reward(value=reward)],
    )


def rollouts(drawn: list[tuple[int, int, float | None, bool]]) -> list[Trajectory]:
    return [rollout(s, g, place, reward=reward, failed=failed) for place, (s, g, reward, failed) in enumerate(drawn)]


@given(rate=st.floats(0, 1), drawn=drawn_rollouts)
def test_groups_are_whole_without_exceptions(rate: float, drawn: list[tuple[int, int, float | None, bool]]) -> None:
    """When nothing is kept besides, all of a group of a step goes or nothing."""
    sampler = Sampler(rate, keep=())
    fates: dict[object, set[str]] = {}
    for one in rollouts(drawn):
        fates.setdefault((one.step, one.group), set()).add(sampler.reason(one))
    assert all(len(fate) == 1 for fate in fates.values())


@given(rate=st.floats(0, 0.9), drawn=drawn_rollouts)
def test_errors_and_the_extremes_of_each_step_are_kept(rate: float, drawn: list[tuple[int, int, float | None, bool]]) -> None:
    """Every error, and the best and the worst reward of every step among the others."""
    sampler, all_ = Sampler(rate), rollouts(drawn)
    kept = [one for one in all_ if not sampler.reason(one)]
    assert all(one in kept for one in all_ if one.outcome == "failed")
    for step in {one.step for one in all_}:
        rewards = [one.reward for one in all_ if one.step == step and one.reward is not None]
        shown = [one.reward for one in kept if one.step == step and one.reward is not None]
        if rewards:
            assert (max(shown), min(shown)) == (max(rewards), min(rewards))


@given(rate=st.floats(0, 1), per_step=st.none() | st.integers(1, 20), drawn=drawn_rollouts, cut=st.integers(0, 120))
def test_a_successor_decides_the_same(
    rate: float, per_step: int | None, drawn: list[tuple[int, int, float | None, bool]], cut: int
) -> None:
    """From its state on; state is JSON."""
    all_, whole, first = rollouts(drawn), Sampler(rate, per_step), Sampler(rate, per_step)
    wanted = [whole.reason(one) for one in all_]
    begun = [first.reason(one) for one in all_[:cut]]
    second = Sampler(rate, per_step, state=json.loads(msgspec.json.encode(first.state())))
    assert begun + [second.reason(one) for one in all_[cut:]] == wanted


def test_every_process_agrees() -> None:
    """Whatever its hash seed: backends of the same rate have the same groups, a lower rate has some of them."""
    code = (
        "from rollscope_exporters.sampling import Sampler; from tests.exporters.test_sampling import rollout; "
        "print([g for g in range(100) if not Sampler(0.3).reason(rollout(1, g))])"
    )
    seen = {subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, env={"PYTHONHASHSEED": s}).stdout for s in "12"}
    assert len(seen) == 1
    (groups,) = (json.loads(each) for each in seen)
    fewer = [g for g in range(100) if not Sampler(0.1).reason(rollout(1, g))]
    assert 15 < len(groups) < 45
    assert set(fewer) < set(groups)


def test_a_step_is_bounded_and_says_by_what() -> None:
    """By its number, with as many again for what is notable; by its rate, else."""
    sampler = Sampler(per_step=4)
    reasons = [sampler.reason(rollout(1, group, failed=group >= 50)) for group in range(100)]
    assert reasons[:50] == [""] * 4 + [PER_STEP] * 46
    assert reasons[50:] == [""] * 4 + [PER_STEP] * 46
    assert {Sampler(0.0, 4).reason(rollout(1, group)) for group in range(9)} == {SAMPLE_RATE}


def test_without_a_step_only_the_rate_counts() -> None:
    """There is nothing to be extreme in."""
    assert Sampler(0.0).reason(rollout(None, 1, reward=9.0)) == SAMPLE_RATE
    assert Sampler(0.0).reason(rollout(None, 1, failed=True)) == ""
    assert Sampler(per_step=1).reason(rollout(None, 1)) == Sampler(per_step=1).reason(rollout(None, 2)) == ""


@pytest.mark.parametrize("reward", [None, math.nan, math.inf])
def test_a_reward_that_is_no_number_is_no_extreme(reward: float | None) -> None:
    """Nor does it hide one."""
    sampler = Sampler(0.0)
    assert sampler.reason(rollout(1, 1, reward=reward)) == SAMPLE_RATE
    assert sampler.reason(rollout(1, 2, reward=0.5)) == ""


def test_what_an_error_is() -> None:
    """An outcome that is not `completed`, or a span in error such as a tool's."""
    span = Span(trace_id="t", span_id="s", name="execute_tool f", start=0, end=1, status=2)
    assert is_error(msgspec.structs.replace(rollout(1, 1), spans=[span]))
    assert is_error(rollout(1, 1, failed=True))
    assert not is_error(rollout(1, 1))
