"""The demo's run read back from each destination, in the terms of what the demo noted."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.destinations.facts import leaves
from tests.exporters.backends import readers
from tests.exporters.backends.swanlab import reading as swanlab
from tests.exporters.backends.tensorboard import reading as tensorboard
from tests.exporters.backends.trackio import reading as trackio
from tests.exporters.backends.wandb import folders as wandb

PROJECT = "tool-rl"
Points = dict[str, list[tuple[int | None, object]]]
Tables = dict[tuple[str, int | None], list[dict[str, object]]]


@dataclass
class SeenRun:
    """What one destination holds of a run. `tables`: name and step → rows."""

    name: str | None
    metrics: Points
    tables: Tables
    config: dict[str, object]
    """Leaves by dotted path."""
    rewards: Counter[tuple[str, float]]
    """Trajectory and reward; where only groups are shown, trajectories have no name."""


def read_mlflow(storage: Path, run: str) -> SeenRun:
    """Metric history, params, traces with assessments."""
    from mlflow import MlflowClient

    uri = f"sqlite:///{storage / 'mlflow.db'}"
    seen = readers.read_mlflow(uri, run, PROJECT)
    client = MlflowClient(uri)
    (found,) = client.search_runs([client.get_experiment_by_name(PROJECT).experiment_id], f"tags.`rollscope.run.id` = '{run}'")
    config = {name: json.loads(text) for name, text in found.data.params.items()}
    return SeenRun(seen.name, seen.metrics or {}, seen.tables or {}, config, _by_trajectory(seen))


def read_jsonl(storage: Path, run: str) -> SeenRun:
    """Lines."""
    seen = readers.read_jsonl(storage / "jsonl", run)
    first = json.loads((storage / "jsonl" / run / "runs.jsonl").read_text(encoding="utf-8").splitlines()[0])
    return SeenRun(seen.name, seen.metrics or {}, seen.tables or {}, leaves(first["config"]), _by_trajectory(seen))


def read_wandb(storage: Path, run: str) -> SeenRun:
    """The transaction log and tables of digests."""
    seen = wandb.read_folders(storage, run)
    (folder,) = wandb.run_folders(storage, run)
    records = wandb.inspect(folder)
    config = [record["run"]["config"]["update"] for record in records if record["type"] == "run"][-1]
    own = {key: value for key, value in config.items() if not key.startswith(("_", "rollscope"))}
    items = [record["history"]["item"] for record in records if record["type"] == "history"]
    paths = [item[key] for item in items for key in ("trajectories/train.path", "trajectories/validation.path") if key in item]
    rows = [row for path in paths for row in wandb.table(folder, path)]
    return SeenRun(seen.name, seen.metrics or {}, seen.tables or {}, own, Counter((row["trajectory"], row["reward"]) for row in rows))


def read_swanlab(storage: Path, run: str) -> SeenRun:
    """Scalars, and texts of digests with the id of each trajectory beside them."""
    (folder,) = swanlab.folders_of(storage / "swanlog", run)
    metrics: Points = {}
    for point in swanlab.scalars(folder):
        metrics.setdefault(point.key, []).append((point.step, point.value))
    shown = swanlab.media(folder)
    tables: Tables = {
        ("val/generations", step): [json.loads(line) for line in content.splitlines()]
        for step, ((content, _),) in shown["tables/val/generations"].items()
    }
    settings = swanlab.config(folder)
    ours = settings.pop("rollscope")
    rewards: Counter[tuple[str, float]] = Counter()
    for split in ("train", "validation"):
        for key in [key for key in shown if re.fullmatch(rf"trajectories/{split}(/\d+)?", key)]:
            for step, items in shown[key].items():
                ids = [id for _, id in shown[key.replace("trajectories", "messages", 1)][step]]
                rewards.update((id, _reward(caption)) for id, (_, caption) in zip(ids, items, strict=True))
    return SeenRun(ours["name"], metrics, tables, leaves(settings), rewards)


def read_tensorboard(storage: Path, run: str) -> SeenRun:
    """Events; trajectories go by group and index."""
    seen = tensorboard.read_tensorboard(storage / "tensorboard", run)
    events = tensorboard.accumulate(tensorboard.folders_of(storage / "tensorboard", run)[0])
    about = json.loads(tensorboard.texts(events, "run/about")[0][1][0].removeprefix("```json\n").removesuffix("\n```"))
    texts = [text for split in ("train", "validation") for _, some in tensorboard.texts(events, f"trajectories/{split}") for text in some]
    return SeenRun(
        seen.name, seen.metrics or {}, seen.tables or {}, leaves(about["config"]), Counter(("", _reward(text)) for text in texts)
    )


def read_trackio(storage: Path, run: str) -> SeenRun:
    """Rows and traces."""
    import trackio as library

    folder = storage / "trackio"
    seen = trackio.read_trackio(folder, run, PROJECT)
    (entry,) = (entry for entry in library.Api().runs(PROJECT) if entry.id == run)
    config = {key: value for key, value in (entry.config or {}).items() if not key.startswith(("_", "rollscope"))}
    traces = [trace["metadata"] for trace in trackio.traces(folder, PROJECT, run)]
    rewards = Counter((trace["trajectory"], trace["reward"]) for trace in traces)
    return SeenRun(seen.name, seen.metrics or {}, seen.tables or {}, leaves(config), rewards)


def _by_trajectory(seen: Any) -> Counter[tuple[str, float]]:
    """Each trajectory with the last of its rewards that is no component."""
    return Counter((id, [value for name, value in one.rewards if name == "reward"][-1]) for id, one in seen.trajectories.items())


def _reward(headline: str) -> float:
    match = re.search(r" · reward (\S+) · ", headline)
    assert match, headline
    return float(match[1])
