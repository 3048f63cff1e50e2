"""Which metrics get a column, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

DEFAULT_METRICS: tuple[str, ...] = (
    "*reward/mean", "*rewards/mean", "*score/mean", "reward", "*/reward", "*reward_mean", "val*/mean@*", "val*acc*", "*accuracy*",
    "*success*", "loss", "*pg_loss", "*policy_loss", "*/loss", "*loss", "*kl_loss", "*ppo_kl", "*kl", "*kl/mean", "*kl_mean", "*entropy",
    "*entropy_loss", "*grad_norm", "*response_length/mean", "*length/mean", "*length*", "*throughput", "*tokens_per_s*", "*tok/s",
    "*timing_s/step", "*time*/step", "*step_time*", "*time*", "lr", "*/lr",
)  # fmt: skip
"""Glob patterns, the most wanted first; each takes its first match in the order of names."""


def choose(names: Iterable[str], patterns: Sequence[str], most: int) -> list[str]:
    """At most `most` of `names`, by the order of `patterns`; without any match the first names."""
    ordered = list(names)
    chosen: list[str] = []
    for pattern in patterns:
        match = next((name for name in ordered if name not in chosen and fnmatchcase(name.lower(), pattern.lower())), None)
        if match is not None:
            chosen.append(match)
        if len(chosen) == most:
            return chosen
    return chosen or ordered[:most]
