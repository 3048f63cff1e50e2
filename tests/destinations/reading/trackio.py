"""trackio's database by its own interface."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, image_of, leaves, spelled
from tests.destinations.program import PROJECT, UNUSUAL, VALUES
from tests.destinations.reading.digests import add_late, of_rows
from tests.exporters.backends.trackio.reading import logs, of_hosts, traces


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Rows of its log, traces, and what hosts measured."""
    import trackio

    folder = storage / "trackio"
    rows = logs(folder, PROJECT, told["run"])
    (run,) = (entry for entry in trackio.Api().runs(PROJECT) if entry.id == told["run"])
    settings = dict(run.config or {})
    ours = settings.pop("rollscope")

    def row(key: str) -> dict[str, Any]:
        return next(row for row in rows if key in row)

    points, plot = row("val/acc@4"), row("images/val/plot")
    bins, table = row("reward/dist"), row("tables/val/generations")
    (late,) = (row for row in rows if row.get("reward/mean") == 0.7)
    hosts = {key.rpartition("/")[2] for row in of_hosts(folder, "tool-rl", told["demo"]) for key in row}
    return {
        "run.id": run.id,
        "run.name": run.name,
        "run.config": leaves({key: value for key, value in settings.items() if not key.startswith("_")}),
        "run.tags": As(sorted(ours["tags"]), "in the configuration"),
        "run.notes": As(ours["notes"], "in the configuration"),
        "run.python": As(ours["circumstances"]["python"], "in the configuration"),
        "run.end": As([row["run/status"] for row in rows if "run/status" in row][-1], "value `run/status`"),
        "metric.value": {name: (points["step"], points[name]) for name in VALUES},
        "metric.late": (late["step"], late["reward/mean"]),
        "metric.time": dict.fromkeys(VALUES, _ns(points["timestamp"])),
        "metric.unusual": {name: spelled(points[name]) for name in UNUSUAL},
        "metric.word": points["phase/name"],
        "metric.hosts": As(sorted(hosts & {"cpu.utilization", "memory.utilization"}), "system view"),
        "histogram.bins": (bins["step"], bins["reward/dist"]["bins"], bins["reward/dist"]["values"]),
        "image.bytes": (plot["step"], (folder / "media" / plot["images/val/plot"]["file_path"]).read_bytes()),
        "image.caption": plot["images/val/plot"]["caption"],
        "table.rows": (table["step"], table["tables/val/generations"]["_value"]),
        **_trajectories(folder, rows, told),
    }


def _trajectories(folder: Path, rows: list[dict[str, Any]], told: dict[str, Any]) -> Held:
    found = {trace["metadata"]["trajectory"]: trace for trace in traces(folder, PROJECT, told["run"])}
    metadata = {key: trace["metadata"] for key, trace in found.items()}
    add_late(metadata, [line for row in rows if "late_rewards" in row for line in row["late_rewards"]["_value"].split("\n\n")])
    one = found[told["trajectory"]]
    return {
        "trajectory.spans": {span["id"]: span["parent_id"] for span in one["spans"]},
        "trajectory.times": {span["id"]: _ns(span["start_time"]) for span in one["spans"]},
        "trajectory.messages": As(one["messages"], "trace"),
        "trajectory.image": As(image_of(found[told["seen"]]["messages"]), "trace"),
        "trajectory.step": one["step"],
        **of_rows(metadata, told, "metadata"),
    }


def _ns(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1e6) * 1000
