"""Facts that arrive in the batch of their trajectory."""

from __future__ import annotations

from rollscope_exporters.backends.mlflow._late import join_facts
from rollscope_exporters.records import LateFacts, Reward
from rollscope_exporters.testing import Sampler


def test_facts_join_their_trajectory_and_others_stay() -> None:
    """Rewards and facts of a trajectory of the batch are written with it, later ones over earlier; foreign ones are left."""
    sampler = Sampler("late", "grpo", "samples")
    first, second = sampler.trajectory(1, "g", 0), sampler.trajectory(1, "g", 1)
    told = [
        LateFacts(run="late", trajectory=first.id, facts={"advantage": 0.5}),
        LateFacts(run="late", trajectory=first.id, facts={"advantage": 0.7}, rewards=[Reward(value=0.1, name="judge")]),
        LateFacts(run="late", trajectory="f" * 32, facts={"advantage": 1.0}),
    ]
    (joined, untouched), others = join_facts([first, second], told)
    assert joined.facts == {**first.facts, "advantage": 0.7}
    assert joined.rewards == [*first.rewards, Reward(value=0.1, name="judge")]
    assert untouched == second
    assert others == told[2:]
