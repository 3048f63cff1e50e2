"""Rollout worker processes, and the pool through which the trainer drives them and replaces those that die."""

from __future__ import annotations

import multiprocessing
import os
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import replace
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path

import rollscope as rs

from .policy import Array
from .rollout import Job, Rollout, run_group
from .tokenizer import load_tokenizer

Weights = tuple[int, Array]
"""Policy version and weights."""


def work(channel: Connection, rank: int, tokenizer_path: Path) -> None:
    """Serve jobs until the channel closes. A message is either new `Weights` or a `Job`."""
    os.environ.update(ROLLSCOPE_ROLE="rollout", ROLLSCOPE_RANK=str(rank))
    tokenizer = load_tokenizer(tokenizer_path)
    try:
        version, weights = channel.recv()
        while True:
            message = channel.recv()
            if isinstance(message, Job):
                channel.send(run_group(message, weights, version, tokenizer))
            else:
                version, weights = message
    except EOFError:
        rs.finish()


class Worker:
    """The trainer's end of one worker."""

    def __init__(self, rank: int, tokenizer_path: Path, weights: Weights) -> None:
        context = multiprocessing.get_context("spawn")
        self.rank = rank
        self.channel, far_end = context.Pipe()
        self.process: BaseProcess = context.Process(target=work, args=(far_end, rank, tokenizer_path), daemon=True, name=f"rollout-{rank}")
        self.process.start()
        far_end.close()
        self.job: Job | None = None
        self.send(weights)

    def give(self, job: Job) -> None:
        """Hand over a job. That the worker is dead shows when its result is collected."""
        self.job = job
        self.send(job)

    def send(self, message: Job | Weights) -> bool:
        """Send, and say whether there was anybody to take it."""
        try:
            self.channel.send(message)
        except OSError:
            return False
        return True

    def close(self) -> None:
        """Let the worker finish and go."""
        self.channel.close()
        self.process.join()


class Pool:
    """A fixed number of workers that always have the newest weights."""

    def __init__(self, size: int, tokenizer_path: Path, weights: Weights) -> None:
        self._tokenizer_path, self._weights = tokenizer_path, weights
        self._workers = [Worker(rank, tokenizer_path, weights) for rank in range(size)]
        self.deaths = 0
        """Workers that died and were replaced."""

    def sync(self, weights: Weights) -> None:
        """Send new weights to every worker."""
        self._weights = weights
        for worker in list(self._workers):
            if not worker.send(weights):
                self._replace(worker)

    def run(self, jobs: Iterable[Job], done: Callable[[Job], None] = lambda job: None) -> list[list[Rollout]]:
        """Run all jobs and return their rollouts in the order of the jobs, calling `done` after each.

        A job whose worker dies is given to another one as its next attempt.
        """
        ordered = list(jobs)
        waiting, results = deque(ordered), dict[str, list[Rollout]]()
        while len(results) < len(ordered):
            for worker in self._workers:
                if worker.job is None and waiting:
                    worker.give(waiting.popleft())
            for channel in wait([worker.channel for worker in self._workers if worker.job]):
                worker = next(worker for worker in self._workers if worker.channel is channel)
                job, rollouts = self._collect(worker)
                if rollouts is None:
                    waiting.appendleft(replace(job, attempt=job.attempt + 1))
                else:
                    results[job.group] = rollouts
                    done(job)
        return [results[job.group] for job in ordered]

    def close(self) -> None:
        """End all workers after the job they are at."""
        for worker in self._workers:
            worker.close()

    def _collect(self, worker: Worker) -> tuple[Job, list[Rollout] | None]:
        job, worker.job = worker.job, None
        assert job is not None
        try:
            return job, worker.channel.recv()
        except (EOFError, OSError):
            self._replace(worker)
            return job, None

    def _replace(self, worker: Worker) -> None:
        self.deaths += 1
        worker.channel.close()
        worker.process.join()
        self._workers[worker.rank] = Worker(worker.rank, self._tokenizer_path, self._weights)
