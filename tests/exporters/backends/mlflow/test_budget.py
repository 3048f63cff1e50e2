"""Which trajectories of a step become traces."""

from __future__ import annotations

import json
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.backends.mlflow._budget import Budget
from rollscope_exporters.records import Reward, Trajectory


def rollout(step: int, group: int, index: int, *, outcome: str = "completed", reward: float = 0.5) -> Trajectory:
    name = f"{step:08x}{group:012x}{index:012x}"
    return Trajectory(
        run="r",
        id=name,
        start=0,
        end=1,
        step=step,
        group=f"g{group}",
        index=index,
        outcome=outcome,
        spans=[],
        rewards=[Reward(value=reward)],
    )


def step_of(step: int, groups: int, size: int = 4) -> list[Trajectory]:
    return [rollout(step, group, index) for group in range(groups) for index in range(size)]


def kept(budget: Budget, trajectories: list[Trajectory]) -> list[Trajectory]:
    return [trajectory for trajectory in trajectories if budget.keeps(trajectory)]


def test_everything_goes_within_the_budget() -> None:
    """A step smaller than the budget is kept whole."""
    assert len(kept(Budget(64), step_of(1, 16))) == 64


def test_without_a_limit_everything_goes() -> None:
    """None keeps all, however many."""
    assert len(kept(Budget(None), step_of(1, 100))) == 400


def test_groups_are_kept_whole() -> None:
    """Each group is there with all of its trajectories or not at all, and their number stays near the budget."""
    chosen = kept(Budget(40), step_of(1, 100))
    assert {sum(other.group == one.group for other in chosen) for one in chosen} == {4}
    assert 40 <= len(chosen) < 44


def test_later_steps_are_sampled_over_their_whole_length() -> None:
    """Once the size of a step is known, groups are thinned evenly instead of taking the first ones."""
    budget = Budget(40)
    kept(budget, step_of(1, 100))
    chosen = {int(str(trajectory.group)[1:]) for trajectory in kept(budget, step_of(2, 100))}
    assert max(chosen) > 50


def test_failures_and_extremes_come_on_top() -> None:
    """Failed trajectories and new lowest and highest rewards are kept when the budget is used up, up to twice the budget."""
    budget = Budget(4)
    kept(budget, step_of(1, 1))
    assert budget.keeps(rollout(1, 90, 0, outcome="failed"))
    assert budget.keeps(rollout(1, 91, 0, reward=0.9))
    assert budget.keeps(rollout(1, 92, 0, reward=-0.1))
    assert not budget.keeps(rollout(1, 93, 0, reward=0.4))
    assert not budget.keeps(rollout(1, 94, 0, reward=math.nan))
    many = [rollout(1, 100 + number, 0, outcome="failed") for number in range(50)]
    assert len(kept(budget, many)) == 1


def test_asked_twice_it_says_the_same() -> None:
    """A batch that is handed over again in halves gets the same answers and is counted once."""
    budget, step = Budget(8), step_of(1, 10)
    assert [budget.keeps(one) for one in step] == [budget.keeps(one) for one in step]


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 9), st.integers(0, 3), st.floats(-1, 1)), max_size=120), st.integers(0, 120))
def test_a_successor_decides_the_same(drawn: list[tuple[int, int, int, float]], cut: int) -> None:
    """From the state of any checkpoint on, a new process decides as the old one did."""
    trajectories = list({rollout(s, g, i, reward=r).id: rollout(s, g, i, reward=r) for s, g, i, r in drawn}.values())
    whole, first = Budget(6), Budget(6)
    wanted = [whole.keeps(one) for one in trajectories]
    begun = [first.keeps(one) for one in trajectories[:cut]]
    state = json.loads(msgspec.json.encode(first.checkpoint()))
    [first.keeps(one) for one in trajectories[cut:]]
    second = Budget(6, state)
    assert begun + [second.keeps(one) for one in trajectories[cut:]] == wanted
