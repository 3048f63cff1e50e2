"""Train the agent: `python -m examples.tool_rl.train --help`."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import numpy as np
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

import rollscope as rs

from . import metrics
from .grpo import Batch, GrpoConfig, Learner, group_advantages
from .policy import Array
from .rollout import Job, Rollout
from .tasks import make_task
from .tokenizer import load_tokenizer, train_tokenizer
from .where import where_to_look
from .worker import Pool

GROUPS_PER_STEP = 8
GROUP_SIZE = 8
VALIDATION_EVERY = 8
VALIDATION_TASKS = 16


class Trainer:
    """One training run. Everything random follows from the seed; workers and timing do not change the result."""

    def __init__(self, options: argparse.Namespace, pool: Pool, learner: Learner) -> None:
        self._options, self._pool, self._learner = options, pool, learner
        self._seconds: dict[str, float] = {}

    def step(self, number: int, progress: Progress) -> dict[str, float]:
        """Sample, score, learn, synchronise, and validate now and then. Returns what was logged."""
        self._seconds = {}
        with rs.step(number):
            groups = self._sample(number, progress)
            advantages = group_advantages(np.array([[rollout.reward for rollout in group] for group in groups]))
            logged = {**metrics.rollout_metrics(groups), **metrics.advantage_metrics(advantages)}
            with self._phase("advantage"):
                self._tell_advantages(groups, advantages)
            with self._phase("update_actor"):
                logged |= self._learner.update(_batch(groups, advantages))
            with self._phase("weight_sync"):
                self._pool.sync((self._learner.version, self._learner.weights))
            if number % VALIDATION_EVERY == 0 or number == self._options.steps:
                logged |= self._validate(number)
            tokens = sum(rollout.prompt_length + rollout.response_length for group in groups for rollout in group)
            logged |= metrics.timing_metrics(self._seconds, tokens)
            logged["training/global_step"] = float(number)
            rs.log(logged, step=number)
        return logged

    def _sample(self, number: int, progress: Progress) -> list[list[Rollout]]:
        first = number * GROUPS_PER_STEP
        bar = progress.add_task(f"step {number}", total=GROUPS_PER_STEP)
        with self._phase("rollout"):
            jobs = [self._job(number, "train", first + group, GROUP_SIZE) for group in range(GROUPS_PER_STEP)]
            groups = self._pool.run(jobs, done=lambda _: progress.advance(bar))
        progress.remove_task(bar)
        return groups

    def _validate(self, number: int) -> dict[str, float]:
        with self._phase("validation"):
            jobs = [self._job(number, "validation", task, 1) for task in range(VALIDATION_TASKS)]
            groups = self._pool.run(jobs)
            rs.table("val/generations", rows=metrics.validation_rows(jobs, groups), step=number)
        return metrics.validation_metrics(groups)

    def _job(self, step: int, split: str, task: int, size: int) -> Job:
        options = self._options
        return Job(
            task=make_task(options.seed, split, task),
            step=step,
            split=split,
            size=size,
            seed=options.seed,
            carrier=rs.carrier(),
            latency=options.latency,
        )

    def _tell_advantages(self, groups: list[list[Rollout]], advantages: Array) -> None:
        for group, values in zip(groups, advantages, strict=True):
            for rollout, value in zip(group, values, strict=True):
                rs.facts(trajectory=rollout.trajectory, advantage=float(value), filtered=not values.any())

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        with rs.phase(name):
            yield
        self._seconds[name] = time.perf_counter() - start


def _batch(groups: list[list[Rollout]], advantages: Array) -> Batch:
    rollouts = [rollout for group in groups for rollout in group]
    return Batch(
        features=np.array([seen for rollout in rollouts for seen in rollout.features]),
        actions=np.array([action for rollout in rollouts for action in rollout.actions]),
        old_logprobs=np.array([logprob for rollout in rollouts for logprob in rollout.logprobs]),
        advantages=np.repeat(advantages.ravel(), [len(rollout.actions) for rollout in rollouts]),
    )


def train(options: argparse.Namespace, progress: Progress) -> list[dict[str, float]]:
    """Run all steps with recording on; returns what each of them logged."""
    tokenizer_path = options.storage / "tool_rl" / "tokenizer.json"
    train_tokenizer(tokenizer_path, options.seed)
    grpo = GrpoConfig()
    config = {**asdict(grpo), "steps": options.steps, "seed": options.seed, "workers": options.workers, "group_size": GROUP_SIZE}
    rs.init(
        project="tool-rl",
        experiment=f"grpo-seed{options.seed}",
        config=config,
        tags=["demo"],
        backends=options.backends,
        storage=options.storage,
        tokenizer=load_tokenizer(tokenizer_path),
        role="trainer",
        algorithm="grpo",
    )
    rs.artifact(tokenizer_path)
    learner = Learner(grpo)
    pool = Pool(options.workers, tokenizer_path, (learner.version, learner.weights))
    trainer = Trainer(options, pool, learner)
    bar, history = progress.add_task("training", total=options.steps), []
    for number in range(1, options.steps + 1):
        history.append(trainer.step(number, progress))
        progress.update(bar, advance=1, description=f"reward {history[-1]['critic/rewards/mean']:.2f}")
    pool.close()
    rs.finish()
    return history


def parse(arguments: Sequence[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m examples.tool_rl.train", description="Agentic RL on a laptop, recorded by rollscope.")
    parser.add_argument("--steps", type=int, default=30, help="training steps (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="same seed, same run (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=4, help="rollout processes (default: %(default)s)")
    parser.add_argument("--backends", nargs="+", default=["console", "mlflow", "jsonl"], help="where it goes (default: %(default)s)")
    parser.add_argument("--storage", type=Path, default=Path("rollscope"), help="folder of the embedded bridge (default: %(default)s)")
    parser.add_argument("--latency", type=float, default=0.002, help="seconds a generation takes, like an engine's (default: %(default)s)")
    parser.add_argument("--wait", type=float, default=600, help="seconds to wait for delivery at the end, at most (default: %(default)s)")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Train, then show the ledger and where to look. 0 only when every record arrived."""
    options = parse(arguments)
    options.storage = options.storage.resolve()
    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.completed:.0f}/{task.total:.0f}"), TimeElapsedColumn())
    with Progress(*columns) as progress:
        train(options, progress)
    return where_to_look(options.storage, options.wait)


if __name__ == "__main__":
    sys.exit(main())
