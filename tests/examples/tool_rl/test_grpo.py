"""Group-relative policy optimisation in numpy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from examples.tool_rl.grpo import Batch, GrpoConfig, Learner, group_advantages
from examples.tool_rl.policy import ACTIONS, FEATURES, base_weights, probabilities


@given(arrays(np.float64, (3, 8), elements=st.floats(0, 1)))
def test_advantages_are_normalised_within_each_group(rewards: np.ndarray) -> None:
    """Each group's advantages have mean zero and, where rewards differ, deviation one."""
    advantages = group_advantages(rewards)
    assert np.allclose(advantages.mean(axis=1), 0, atol=1e-6)
    for spread, group in zip(rewards.std(axis=1), advantages, strict=True):
        assert np.isclose(group.std(), 1.0, atol=1e-2) if spread > 1e-4 else group.std() <= 1.0


def decisions(learner: Learner, rows: int = 64) -> Batch:
    """A batch in which action 2 is good and every other one is bad."""
    rng = np.random.default_rng(0)
    seen = np.eye(FEATURES)[rng.integers(0, FEATURES, rows)]
    actions = rng.integers(0, len(ACTIONS), rows)
    chances = probabilities(learner.weights, seen)
    return Batch(seen, actions, np.log(chances[np.arange(rows), actions]), np.where(actions == 2, 1.0, -0.1))


def test_an_update_makes_good_actions_likelier() -> None:
    """After updates the rewarded action has gained probability and the version has moved."""
    learner = Learner(GrpoConfig(kl_coefficient=0.0))
    before = probabilities(learner.weights, np.eye(FEATURES))[:, 2].mean()
    for _ in range(5):
        metrics = learner.update(decisions(learner))
    assert probabilities(learner.weights, np.eye(FEATURES))[:, 2].mean() > before
    assert learner.version == 5
    assert {"actor/pg_loss", "actor/pg_clipfrac", "actor/kl_loss", "actor/entropy", "actor/grad_norm"} <= metrics.keys()


def test_the_gradient_is_the_slope_of_the_objective() -> None:
    """The analytic gradient equals finite differences of surrogate minus KL penalty."""
    learner = Learner(GrpoConfig(kl_coefficient=0.3, clip_ratio=10.0))
    batch = decisions(learner, rows=16)
    learner.weights = learner.weights + np.random.default_rng(1).normal(size=learner.weights.shape) * 0.1

    def objective(weights: np.ndarray) -> float:
        learner.weights = weights
        metrics, _ = learner._surrogate(batch)
        return -metrics["actor/pg_loss"] - 0.3 * metrics["actor/kl_loss"]

    weights = learner.weights.copy()
    _, gradient = learner._surrogate(batch)
    for place in [(0, 2), (5, 7), (FEATURES - 1, 0)]:
        nudge = np.zeros_like(weights)
        nudge[place] = 1e-6
        assert gradient[place] == pytest.approx((objective(weights + nudge) - objective(weights - nudge)) / 2e-6, abs=1e-6)


def test_clipping_stops_the_pull_of_a_ratio_that_went_too_far() -> None:
    """Where the ratio left the clip range in the advantage's direction, a decision adds nothing to the gradient."""
    learner = Learner(GrpoConfig(kl_coefficient=0.0))
    batch = decisions(learner, rows=8)
    far = Batch(batch.features, batch.actions, batch.old_logprobs - 1.0, np.ones(8))
    metrics, gradient = learner._surrogate(far)
    assert metrics["actor/pg_clipfrac"] == 1.0
    assert not gradient.any()


def test_the_base_policy_prefers_the_fitting_tool() -> None:
    """Training starts from a policy that leans to the right kind of tool and is sure of nothing."""
    chances = probabilities(base_weights(), np.eye(FEATURES))
    assert chances.max() < 0.5
    assert chances.min() > 0.0
