"""The demo keeps every record while its processes are killed at random."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import psutil
import pytest
from mlflow import MlflowClient
from rich.progress import Progress

from examples.tool_rl import train

pytestmark = [
    pytest.mark.reliability,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
ROOT = Path(__file__).resolve().parents[2]
STEPS, SEED, KILLS = 5, 5, 20
REWARD = "critic/rewards/mean"
ROLES = ("worker", "shipper", "bridge", "backend")


def processes(role: str, trainer: psutil.Process, storage: Path) -> list[psutil.Process]:
    """Processes of this demo that have the role, recognised by their command line."""
    if role == "worker":
        return [child for child in trainer.children() if "spawn_main" in " ".join(command_of(child))]
    module = {"shipper": "rollscope.shipper", "bridge": "bridge", "backend": "rollscope_exporters.worker"}[role]
    mine = [process for process in psutil.process_iter() if any(str(storage) in word for word in command_of(process))]
    return [process for process in mine if module in command_of(process)]


def command_of(process: psutil.Process) -> list[str]:
    """Command line, empty for a process that is gone."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def kill_at_random(trainer: psutil.Process, storage: Path) -> Counter[str]:
    """Kill until every role had its share or the trainer has ended; returns kills by role."""
    rng = random.Random(SEED)
    plan = [role for role in ROLES for _ in range(KILLS // len(ROLES))]
    rng.shuffle(plan)
    killed: Counter[str] = Counter()
    while plan and trainer.is_running() and trainer.status() != psutil.STATUS_ZOMBIE:
        time.sleep(rng.uniform(0.2, 0.9))
        role = next((role for role in plan if processes(role, trainer, storage)), None)
        if role is None:
            continue
        os.kill(rng.choice(processes(role, trainer, storage)).pid, signal.SIGKILL)
        plan.remove(role)
        killed[role] += 1
    return killed


def undisturbed(storage: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, float]]:
    """What each step logs when nobody is killed and nothing recorded."""
    monkeypatch.setenv("ROLLSCOPE_DISABLED", "1")
    options = train.parse(["--steps", str(STEPS), "--seed", str(SEED), "--latency", "0", "--storage", str(storage)])
    with Progress(disable=True) as progress:
        history = train.train(options, progress)
    monkeypatch.delenv("ROLLSCOPE_DISABLED")
    return history


def lines(storage: Path, signal_name: str) -> list[dict[str, Any]]:
    """All JSONL records of a signal, oldest first."""
    files = sorted((storage / "jsonl").rglob(f"{signal_name}*.jsonl"), key=lambda path: path.stat().st_mtime)
    return [json.loads(line) for path in files for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> tuple[Path, dict[str, Any]]:
    """A demo that was killed at over and over, and its ledger after the dust had settled."""
    storage = tmp_path_factory.mktemp("demo") / "rollscope"
    storage.mkdir()
    # Its making is killed in tests of its own; here the kills are to hit deliveries.
    shutil.copy(mlflow_store, storage / "mlflow.db")
    options = ["--steps", str(STEPS), "--seed", str(SEED), "--backends", "mlflow", "jsonl", "--storage", str(storage)]
    pace = ["--latency", "0.13", "--wait", "0"]
    with (storage.parent / "out").open("w") as out:
        trainer = psutil.Popen([sys.executable, "-m", "examples.tool_rl.train", *options, *pace], cwd=ROOT, stdout=out, stderr=out)
        killed = kill_at_random(trainer, storage)
        trainer.wait(timeout=240)
    assert sum(killed.values()) >= KILLS, f"only {dict(killed)}: the demo ended too soon"
    ledger = [sys.executable, "-m", "rollscope_exporters.cli", "ledger", "--storage", str(storage), "--wait", "300", "--json"]
    result = subprocess.run(ledger, capture_output=True, text=True, check=False)
    return storage, json.loads(result.stdout)


def test_the_ledger_is_complete(demo: tuple[Path, dict[str, Any]]) -> None:
    """Everything that any process recorded has reached every backend."""
    _, ledger = demo
    assert [run["verdict"] for run in ledger["runs"]] == ["complete"]


def test_every_step_has_its_scalars_once(demo: tuple[Path, dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """MLflow and JSONL hold one point per step, and the values are those of a run that nobody disturbed."""
    storage, _ = demo
    expected = [logged[REWARD] for logged in undisturbed(tmp_path, monkeypatch)]
    client = MlflowClient(tracking_uri=f"sqlite:///{storage}/mlflow.db")
    (run,) = client.search_runs([experiment.experiment_id for experiment in client.search_experiments()])
    history = client.get_metric_history(run.info.run_id, REWARD)
    assert [(point.step, point.value) for point in sorted(history, key=lambda point: point.step)] == list(enumerate(expected, 1))
    written = [(line["step"], line["values"][REWARD]) for line in lines(storage, "metrics") if REWARD in line["values"]]
    assert sorted(written) == list(enumerate(expected, 1))


def test_every_trajectory_arrives_exactly_once(demo: tuple[Path, dict[str, Any]]) -> None:
    """Each place in each group has one completed trajectory at its last attempt, none twice, the same in MLflow and JSONL."""
    storage, _ = demo
    trajectories = [line for line in lines(storage, "trajectories") if line["record"] == "trajectory"]
    ids = Counter(line["id"] for line in trajectories)
    assert max(ids.values()) == 1

    last: dict[tuple[str, int], dict[str, Any]] = {}
    for line in sorted(trajectories, key=lambda line: line.get("attempt", 0)):
        last[line["group"], line["index"]] = line
    trained = [line for line in last.values() if line.get("split", "train") == "train"]
    assert len(trained) == STEPS * train.GROUPS_PER_STEP * train.GROUP_SIZE
    assert {line.get("outcome", "completed") for line in last.values()} == {"completed"}
    assert all(line["rewards"] for line in last.values())
    assert trace_ids(storage) >= ids.keys()


def trace_ids(storage: Path) -> set[str]:
    """Ids of all traces in MLflow, in hex."""
    client = MlflowClient(tracking_uri=f"sqlite:///{storage}/mlflow.db")
    found, token = set(), None
    while True:
        page = client.search_traces(
            locations=[experiment.experiment_id for experiment in client.search_experiments()],
            max_results=500, page_token=token, include_spans=False,
        )  # fmt: skip
        found |= {trace.info.trace_id.removeprefix("tr-") for trace in page}
        token = page.token
        if not token:
            return found
