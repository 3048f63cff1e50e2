"""Group-relative policy optimisation (Shao et al. 2024, arXiv:2402.03300) of the softmax policy, in numpy."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from .policy import Array, base_weights, probabilities, zero_weights


@dataclass(frozen=True)
class GrpoConfig:
    """Hyperparameters."""

    learning_rate: float = 0.2
    epochs: int = 8
    clip_ratio: float = 0.2
    kl_coefficient: float = 0.12


@dataclass(frozen=True)
class Batch:
    """Decisions of a step's trajectories, one row each."""

    features: Array
    """Shape `(decisions, FEATURES)`."""
    actions: npt.NDArray[np.int64]
    """Index of the action taken, shape `(decisions,)`."""
    old_logprobs: Array
    """Log-probability under the policy that acted, natural log, shape `(decisions,)`."""
    advantages: Array
    """Advantage of the trajectory a decision belongs to, shape `(decisions,)`."""


def group_advantages(rewards: Array) -> Array:
    """Normalise rewards within each group, shape `(groups, size)`; a group without spread teaches nothing and gives zeros."""
    spread = rewards.std(axis=1, keepdims=True)
    centred = rewards - rewards.mean(axis=1, keepdims=True)
    normalised: Array = np.where(spread > 1e-6, centred / (spread + 1e-6), 0.0)
    return normalised


@dataclass
class Learner:
    """Weights with Adam's moments; the reference policy is where training began."""

    config: GrpoConfig = field(default_factory=GrpoConfig)
    weights: Array = field(default_factory=base_weights)
    version: int = 0
    _moments: tuple[Array, Array] = field(default_factory=lambda: (zero_weights(), zero_weights()))
    _updates: int = 0

    def __post_init__(self) -> None:
        self.reference = self.weights.copy()

    def update(self, batch: Batch) -> dict[str, float]:
        """Take `epochs` steps on the clipped surrogate with a KL penalty; returns what trainers usually log."""
        for _ in range(self.config.epochs):
            metrics, gradient = self._surrogate(batch)
            metrics["actor/grad_norm"] = float(np.linalg.norm(gradient))
            self._ascend(gradient)
        self.version += 1
        metrics["actor/lr"] = self.config.learning_rate
        return metrics

    def _surrogate(self, batch: Batch) -> tuple[dict[str, float], Array]:
        rows = np.arange(len(batch.actions))
        chances = probabilities(self.weights, batch.features)
        ratio = np.exp(np.log(chances[rows, batch.actions]) - batch.old_logprobs)
        low, high = 1 - self.config.clip_ratio, 1 + self.config.clip_ratio
        clipped = ((ratio > high) & (batch.advantages > 0)) | ((ratio < low) & (batch.advantages < 0))
        log_gap = np.log(chances) - np.log(probabilities(self.reference, batch.features))
        kl = (chances * log_gap).sum(axis=1)

        towards_action = -chances
        towards_action[rows, batch.actions] += 1.0
        kl_slope = chances * (log_gap - kl[:, None])
        slope = np.where(clipped, 0.0, ratio * batch.advantages)[:, None] * towards_action - self.config.kl_coefficient * kl_slope
        gain = np.minimum(ratio * batch.advantages, np.clip(ratio, low, high) * batch.advantages)
        metrics = {
            "actor/pg_loss": float(-gain.mean()),
            "actor/pg_clipfrac": float(clipped.mean()),
            "actor/kl_loss": float(kl.mean()),
            "actor/entropy": float(-(chances * np.log(chances)).sum(axis=1).mean()),
        }
        return metrics, batch.features.T @ slope / len(rows)

    def _ascend(self, gradient: Array) -> None:
        self._updates += 1
        first, second = self._moments
        first = 0.9 * first + 0.1 * gradient
        second = 0.99 * second + 0.01 * gradient**2
        self._moments = (first, second)
        step = (first / (1 - 0.9**self._updates)) / (np.sqrt(second / (1 - 0.99**self._updates)) + 1e-8)
        self.weights = self.weights + self.config.learning_rate * step
