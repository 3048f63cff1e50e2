"""W&B's offline folder by its own inspector."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, leaves, spelled
from tests.destinations.program import UNUSUAL, VALUES
from tests.destinations.reading.digests import of_rows
from tests.exporters.backends.wandb.folders import inspect, run_folders, table


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Records of the transaction log, and the files beside it."""
    (folder,) = run_folders(storage, told["run"])
    records = inspect(folder)

    def of(kind: str) -> list[dict[str, Any]]:
        return [record[kind] for record in records if record["type"] == kind]

    run = of("run")[-1]
    config = {key: value for key, value in run["config"]["update"].items() if not key.startswith("_")}
    ours = config.pop("rollscope")
    rows = [record["item"] for record in of("history")]
    return {
        "run.id": run["run_id"],
        "run.name": run["display_name"],
        "run.config": leaves(config),
        "run.tags": sorted(run["tags"]),
        "run.notes": run["notes"],
        "run.python": As(ours["circumstances"]["python"], "in the configuration"),
        "run.end": {0: "finished"}[of("exit")[0].get("exit_code", 0)],
        **_metrics(storage, rows, told),
        **_pictures(folder, rows),
        **_files(of("artifact")),
        **_trajectories(folder, rows, told),
    }


def _metrics(storage: Path, rows: list[dict[str, Any]], told: dict[str, Any]) -> Held:
    (row,) = (row for row in rows if "val/acc@4" in row)
    (late,) = (row for row in rows if row.get("reward/mean") == 0.7)
    step = row["trainer/global_step"]
    found: Held = {
        "metric.value": {name: (step, row[name]) for name in VALUES},
        "metric.late": (late["trainer/global_step"], late["reward/mean"]),
        "metric.time": {name: round(row["_timestamp"] * 1e9) for name in VALUES},
        "metric.unusual": {name: spelled(row[name]) for name in UNUSUAL},
        "metric.word": row["phase/name"],
    }
    hosts, form = _hosts(storage, told["demo"])
    return found | ({"metric.hosts": As(hosts, form)} if hosts else {})


def _hosts(storage: Path, run: str) -> tuple[list[str], str]:
    """Names that were measured, and where W&B shows them."""
    (folder,) = run_folders(storage, run)
    records = inspect(folder)
    in_stats = {item["key"] for record in records if record["type"] == "stats" for item in record["stats"].get("item", [])}
    in_rows = {key for record in records if record["type"] == "history" for key in record["history"]["item"] if key.startswith("system/")}
    known = {"cpu.utilization", "memory.utilization"}
    names, form = (in_stats, "system view") if in_stats else (in_rows, "charts below `system/`")
    return sorted({name.rpartition("/")[2] for name in names} & known), form


def _pictures(folder: Path, rows: list[dict[str, Any]]) -> Held:
    (bins,) = (row for row in rows if row.get("reward/dist._type") == "histogram")
    (plot,) = (row for row in rows if row.get("val/plot._type") == "image-file")
    (tabled,) = (row for row in rows if "val/generations.path" in row)
    return {
        "histogram.bins": (bins["trainer/global_step"], bins["reward/dist.bins"], bins["reward/dist.values"]),
        "image.bytes": (plot["trainer/global_step"], (folder / "files" / plot["val/plot.path"]).read_bytes()),
        "image.caption": plot["val/plot.caption"],
        "table.rows": (tabled["trainer/global_step"], table(folder, tabled["val/generations.path"])),
    }


def _files(artifacts: list[dict[str, Any]]) -> Held:
    by_type = {artifact["type"]: artifact for artifact in artifacts}
    (file,) = by_type["file"]["manifest"]["contents"]
    (model,) = by_type["model"]["manifest"]["contents"]
    (alias,) = set(by_type["model"]["aliases"]) - {"latest"}
    return {
        "file.content": As(Path(file["local_path"]).read_bytes(), "artifact"),
        "checkpoint.place": As((model["ref"].rpartition("/")[2], alias), "artifact"),
    }


def _trajectories(folder: Path, rows: list[dict[str, Any]], told: dict[str, Any]) -> Held:
    tables = [(row["trainer/global_step"], row["trajectories/train.path"]) for row in rows if "trajectories/train.path" in row]
    shown = {one["trajectory"]: one | {"step": step} for step, path in tables for one in table(folder, path)}
    digest = {key: {**row, **{name: json.loads(row[name]) for name in ("rewards", "facts")}} for key, row in shown.items()}
    for row in (row for item in rows if "late_rewards.path" in item for row in table(folder, item["late_rewards.path"])):
        digest[row["trajectory"]]["rewards"] += [{"name": row["name"], "value": row["value"]}] if row["name"] else []
        digest[row["trajectory"]]["facts"] |= json.loads(row["facts"] or "{}")
    one = digest[told["trajectory"]]
    (picture,) = (path for row in rows for path in row.get("message_images/train.filenames", []))
    return {
        "trajectory.messages": As(json.loads(one["messages"]), "table"),
        "trajectory.image": As((folder / "files" / picture).read_bytes(), "beside the table"),
        "trajectory.step": one["step"],
        **of_rows(digest, told, "table"),
    }
