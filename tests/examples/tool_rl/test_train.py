"""The demo as a whole: it learns, it is repeatable, its workers may die, and it ends with a complete ledger."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from rich.progress import Progress
from tokenizers import Tokenizer

from examples.tool_rl import train
from examples.tool_rl.grpo import Learner
from examples.tool_rl.rollout import Job, Rollout, run_group
from examples.tool_rl.tasks import make_task
from examples.tool_rl.tokenizer import Chat, load_tokenizer, train_tokenizer
from examples.tool_rl.worker import Pool, Weights
from rollscope import testing

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def tokenizer_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer trained on the tasks of seed 0."""
    path = tmp_path_factory.mktemp("tokenizer") / "tokenizer.json"
    train_tokenizer(path, seed=0)
    return path


@pytest.fixture
def unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Recording is off in this process and in its workers."""
    monkeypatch.setenv("ROLLSCOPE_DISABLED", "1")


class LocalPool(Pool):
    """Runs jobs in this process."""

    def __init__(self, tokenizer: Tokenizer, weights: Weights) -> None:
        self._tokenizer, self._weights = tokenizer, weights

    def sync(self, weights: Weights) -> None:
        self._weights = weights

    def run(self, jobs: Iterable[Job], done: Callable[[Job], None] = lambda job: None) -> list[list[Rollout]]:
        return [run_group(job, self._weights[1], self._weights[0], self._tokenizer) for job in jobs]


def history(steps: int, tokenizer_path: Path, pool: Callable[[Weights], Pool]) -> list[float]:
    """Mean reward of each step."""
    learner = Learner()
    running = pool((learner.version, learner.weights))
    trainer = train.Trainer(train.parse(["--steps", str(steps), "--latency", "0"]), running, learner)
    with Progress(disable=True) as progress:
        rewards = [trainer.step(number, progress)["critic/rewards/mean"] for number in range(1, steps + 1)]
    return rewards


def test_the_reward_rises(tokenizer_path: Path, unrecorded: None) -> None:
    """From its first steps to its last the mean reward climbs by far more than it wavers."""
    rewards = history(30, tokenizer_path, lambda weights: LocalPool(load_tokenizer(tokenizer_path), weights))
    assert sum(rewards[-4:]) / 4 > sum(rewards[:4]) / 4 + 0.3


def test_workers_change_nothing_but_speed(tokenizer_path: Path, unrecorded: None) -> None:
    """Three worker processes give the very rewards that one process gives."""
    pools: list[Pool] = []

    def three(weights: Weights) -> Pool:
        pools.append(Pool(3, tokenizer_path, weights))
        return pools[0]

    there = history(2, tokenizer_path, three)
    pools[0].close()
    assert there == history(2, tokenizer_path, lambda weights: LocalPool(load_tokenizer(tokenizer_path), weights))


def test_a_worker_that_dies_is_replaced_and_its_group_repeated(tokenizer_path: Path, unrecorded: None) -> None:
    """Killed in the middle of a job, a worker is replaced, and the job comes back from another as its next attempt, equal."""
    learner = Learner()
    weights = (learner.version, learner.weights)
    jobs = [Job(make_task(0, "train", number), step=1, split="train", size=4, seed=0, latency=0.02) for number in range(6)]
    expected = LocalPool(load_tokenizer(tokenizer_path), weights).run(jobs)

    pool = Pool(2, tokenizer_path, weights)
    victims = [pool._workers[0].process.pid]

    def kill_once(job: Job) -> None:
        if victims:
            os.kill(victims.pop() or 0, signal.SIGKILL)

    groups = pool.run(jobs, done=kill_once)
    pool.close()
    assert pool.deaths == 1
    assert [[rollout.rewards for rollout in group] for group in groups] == [[rollout.rewards for rollout in group] for group in expected]


def test_prompt_and_output_ids_are_one_stream(tokenizer_path: Path) -> None:
    """Each prompt begins with the prompt before and what was sampled then, and the ids decode to the text that was encoded."""
    tokenizer = load_tokenizer(tokenizer_path)
    chat = Chat(tokenizer)
    chat.add([{"role": "user", "content": "How high is 泰山 🗻?"}])
    first = chat.prompt()
    output = chat.reply({"role": "assistant", "content": "1545"})
    chat.add([{"role": "user", "content": "Sure?"}])
    second = chat.prompt()
    assert second[: len(first) + len(output)] == first + output
    assert "泰山 🗻" in tokenizer.decode(first, skip_special_tokens=False)


def test_a_rollout_is_recorded_whole(tokenizer_path: Path) -> None:
    """A trajectory has a root, and per turn one generation with its tokens and one span per tool call; the reward has its components."""
    learner = Learner()
    job = Job(make_task(0, "train", 2), step=3, split="train", size=2, seed=0)
    with testing.memory_recorder() as memory:
        rollouts = run_group(job, learner.weights, 7, load_tokenizer(tokenizer_path))
    names = [span.name for span in memory.spans]
    assert names.count("invoke_agent tool-user") == 2
    assert names.count("rl.turn") == names.count("chat tool-rl-softmax") == sum(len(rollout.actions) for rollout in rollouts)
    assert sum(name.startswith("execute_tool ") for name in names) == sum(rollout.tool_calls for rollout in rollouts)
    assert {bytes.fromhex(rollout.trajectory) for rollout in rollouts} == {span.trace_id for span in memory.spans}
    outputs = [record for record in memory.tokens if record.role == "output"]
    assert sum(len(record.ids) for record in outputs) == sum(rollout.response_length for rollout in rollouts)
    rewards = [event.attributes["rl.reward.components"] for event in memory.events if event.name == "rl.reward"]
    assert rewards == [rollout.rewards for rollout in rollouts]


@pytest.mark.integration
def test_the_demo_ends_with_a_complete_ledger(tmp_path: Path) -> None:
    """A short run into console and JSONL exits with 0, says where to look, and every trajectory is in the files."""
    options = ["--steps", "2", "--workers", "2", "--backends", "console", "jsonl", "--storage", str(tmp_path / "store")]
    command = [sys.executable, "-m", "examples.tool_rl.train", *options]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    assert "verdict: complete" in result.stdout
    assert "mlflow ui" in result.stdout
    lines = [json.loads(line) for path in (tmp_path / "store").rglob("trajectories*.jsonl") for line in path.read_text().splitlines()]
    assert sum(line["record"] == "trajectory" for line in lines) == 2 * 64 + train.VALIDATION_TASKS
