"""The demo into every destination at once: each holds what the demo recorded, or the ledger says how much it leaves out."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name, metric_name
from tests.destinations import runs
from tests.fixtures.collector import STEPS, EveryDestination

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
READERS: dict[str, Callable[[Path, str], runs.SeenRun]] = {
    "mlflow": runs.read_mlflow,
    "wandb": runs.read_wandb,
    "swanlab": runs.read_swanlab,
    "tensorboard": runs.read_tensorboard,
    "trackio": runs.read_trackio,
    "jsonl": runs.read_jsonl,
}


@pytest.fixture(scope="module")
def notes(travelled: EveryDestination) -> dict[str, Any]:
    """What the demo itself says that it recorded."""
    found: dict[str, Any] = json.loads(travelled.notes.read_text())
    return found


def ledger(stack: EveryDestination) -> dict[str, Any]:
    """The ledger of the demo's run."""
    (run,) = (run for run in stack.ledger()["runs"] if run["run"] == stack.demo_run)
    return run


def test_every_backend_has_delivered_everything(travelled: EveryDestination) -> None:
    """By the ledger the run is complete, and every backend got, or has no place for, each record that was produced."""
    run = ledger(travelled)
    assert (run["verdict"], run["missing"], run["dropped"]) == ("complete", 0, 0)
    backends = {backend["backend"]: backend for backend in run["backends"]}
    assert backends.keys() == READERS.keys() | {"console"}
    for name, backend in backends.items():
        assert backend["delivered"] + sum(backend["not_routed"].values()) == run["produced"], name
        assert (backend["set_aside"], backend["pending"]) == ([], 0)


@pytest.mark.parametrize("name", READERS)
def test_a_destination_has_the_run(name: str, travelled: EveryDestination, notes: dict[str, Any]) -> None:
    """Name, configuration, every scalar of every step to the last digit, every table, and every trajectory with its reward that was not
    left out by name."""
    (settings,) = notes["settings"]
    seen = READERS[name](travelled.storage, travelled.demo_run)
    assert seen.name == settings["experiment"]
    assert seen.config == settings["config"]
    said = {(key, step): value for step, values in notes["scalars"] for key, value in values.items()}
    assert len(notes["scalars"]) == STEPS
    names = {key for key, _ in said}
    assert {(key, step): value for key in names for step, value in seen.metrics[key]} == said
    assert all(len(seen.metrics[key]) == len({step for step, _ in seen.metrics[key]}) for key in names), "a value stands there twice"
    assert {place: [row["score"] for row in rows] for place, rows in seen.tables.items()} == {
        (table, step): [row["score"] for row in rows] for table, step, rows in notes["tables"]
    }
    rewards = Counter((id if any(id for id, _ in seen.rewards) else "", round(reward, 12)) for id, reward, _ in notes["rollouts"])
    shown = Counter({(id, round(reward, 12)): number for (id, reward), number in seen.rewards.items()})
    assert shown <= rewards
    (backend,) = (backend for backend in ledger(travelled)["backends"] if backend["backend"] == name)
    assert backend["left_out"].keys() <= {
        "digest_rows",
        "a value of this metric and step is there already",
    }  # the latter of hosts, in SwanLab
    assert backend["left_out"].get("digest_rows", 0) + shown.total() == rewards.total()


def test_the_console_has_a_line_for_each_step(travelled: EveryDestination, notes: dict[str, Any]) -> None:
    """Start, a line a step with its mean reward, end."""
    lines = (travelled.storage / "console.log").read_text(encoding="utf-8").splitlines()
    start = next(place for place, line in enumerate(lines) if f" id {travelled.demo_run} " in line)
    end = next(place for place, line in enumerate(lines) if line.endswith("grpo-seed0 finished"))
    shown = [re.findall(r"step +(\d+) .*critic/rewards/mean (\S+)", line) for line in lines[start:end]]
    found = {int(step): reward for ((step, reward),) in filter(None, shown)}
    assert found == {step: f"{values['critic/rewards/mean']:.4f}" for step, values in notes["scalars"]}


def test_jaeger_has_every_trajectory(travelled: EveryDestination, notes: dict[str, Any]) -> None:
    """A trace for each, whose root carries the reward."""
    began, ended = (str(int(time * 1e6)) for time in travelled.demo)
    operation = f"{v.SPAN_INVOKE_AGENT} tool-user"

    def rewards() -> dict[str, float]:
        found = travelled.get("jaeger", "/api/traces", service="rollscope", operation=operation, limit="2000", start=began, end=ended)
        tags = {trace["traceID"]: _tags(trace) for trace in found["data"]}
        return {id: found[v.REWARD_VALUE] for id, found in tags.items()}

    wanted = {id: pytest.approx(reward) for id, reward, _ in notes["rollouts"]}
    travelled.until(lambda: len(rewards()) >= len(wanted), "Jaeger lacks trajectories")
    assert rewards() == wanted


def _tags(trace: dict[str, Any]) -> dict[str, Any]:
    (root,) = (span for span in trace["spans"] if span["operationName"].startswith(v.SPAN_INVOKE_AGENT))
    return {tag["key"]: tag["value"] for tag in root["tags"]}


def test_prometheus_has_every_scalar(travelled: EveryDestination, notes: dict[str, Any]) -> None:
    """Each value of each step, in the order of the steps."""
    selector = f'{metric_name(v.METRIC_STEP_SCALAR)}{{{label_name(v.RUN_ID)}="{travelled.demo_run}"}}'
    names = list(notes["scalars"][-1][1])

    def series() -> dict[str, list[float]]:
        found = {entry["metric"][label_name(v.METRIC_NAME)]: entry["values"] for entry in travelled.samples(selector)}
        return {name: [float(value) for _, value in found.get(name, [])] for name in names}

    wanted = {name: [values[name] for _, values in notes["scalars"] if name in values] for name in names}
    travelled.until(lambda: series() == wanted, "Prometheus lacks values", 60)
