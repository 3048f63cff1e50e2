"""Scalars and tables of a step, under the names that RL trainers use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from .policy import Array
from .rollout import Job, Rollout


def rollout_metrics(groups: Sequence[Sequence[Rollout]]) -> dict[str, float]:
    """Rewards, lengths, turns and tool use of a step's trajectories."""
    rollouts = [rollout for group in groups for rollout in group]
    calls = sum(rollout.tool_calls for rollout in rollouts)
    return {
        **_spread("critic/rewards", [rollout.reward for rollout in rollouts]),
        **_spread("critic/score", [float(rollout.rewards["answer"] > 0) for rollout in rollouts]),
        **_spread("response_length", [rollout.response_length for rollout in rollouts]),
        **_spread("prompt_length", [rollout.prompt_length for rollout in rollouts]),
        **_spread("num_turns", [len(rollout.actions) for rollout in rollouts]),
        "tool_call_counts/mean": calls / len(rollouts),
        "tool_call_counts/error_ratio": sum(rollout.tool_errors for rollout in rollouts) / max(calls, 1),
        "response/aborted_ratio": sum(rollout.answer is None for rollout in rollouts) / len(rollouts),
    }


def advantage_metrics(advantages: Array) -> dict[str, float]:
    """Advantages of a step, shape `(groups, size)`."""
    return {
        **_spread("critic/advantages", advantages.ravel()),
        "training/groups_without_signal": float(np.mean(np.all(advantages == 0, axis=1))),
    }


def timing_metrics(seconds: Mapping[str, float], tokens: int) -> dict[str, float]:
    """Seconds per phase and the throughput of the whole step."""
    total = sum(seconds.values())
    return {
        **{f"timing_s/{phase}": value for phase, value in seconds.items()},
        "timing_s/step": total,
        "perf/total_num_tokens": float(tokens),
        "perf/throughput": tokens / total,
    }


def validation_metrics(groups: Sequence[Sequence[Rollout]]) -> dict[str, float]:
    """Mean reward and accuracy on held-out tasks, one sample each."""
    rollouts = [rollout for group in groups for rollout in group]
    return {
        "val-core/tool_rl/reward/mean@1": float(np.mean([rollout.reward for rollout in rollouts])),
        "val-core/tool_rl/acc/mean@1": float(np.mean([rollout.rewards["answer"] > 0 for rollout in rollouts])),
    }


def validation_rows(jobs: Sequence[Job], groups: Sequence[Sequence[Rollout]]) -> list[dict[str, object]]:
    """One row per held-out task: what was asked, said and expected."""
    return [
        {
            "task": job.task.id,
            "input": job.task.question,
            "output": rollout.answer or "",
            "expected": job.task.answer,
            "score": rollout.reward,
            "turns": len(rollout.actions),
            "trajectory": rollout.trajectory,
        }
        for job, group in zip(jobs, groups, strict=True)
        for rollout in group
    ]


def _spread(name: str, values: Sequence[float] | Array) -> dict[str, float]:
    return {f"{name}/mean": float(np.mean(values)), f"{name}/max": float(np.max(values)), f"{name}/min": float(np.min(values))}
