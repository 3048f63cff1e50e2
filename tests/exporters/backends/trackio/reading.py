"""trackio's database read by its own API."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rollscope_exporters.backends import decode_name
from rollscope_exporters.backends.trackio._compat import use_folder
from rollscope_exporters.testing import Contents, SeenTrajectory


def logs(folder: Path, project: str, run: str) -> list[dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    use_folder(folder)
    return SQLiteStorage.get_logs(project, run_id=run)


def traces(folder: Path, project: str, run: str) -> list[dict[str, Any]]:
    from trackio.sqlite_storage import SQLiteStorage

    use_folder(folder)
    return SQLiteStorage.get_traces(project, run_id=run, sort="step_asc")


def read_trackio(folder: Path, run: str, project: str = "samples") -> Contents:
    """A run as trackio's API tells it."""
    import trackio

    use_folder(folder)
    found = [entry for entry in trackio.Api().runs(project) if entry.id == run]
    contents = Contents(copies=len(found), metrics={}, tables={}, histograms={}, images={})
    contents.name, contents.status = found[0].name, _status(project, run)
    assert contents.metrics is not None
    assert contents.tables is not None
    for row in logs(folder, project, run):
        for key, value in row.items():
            if key in {"step", "timestamp", "late_rewards", "run/status"}:
                continue
            if key.startswith("tables/"):
                contents.tables.setdefault((decode_name(key.removeprefix("tables/")), row["step"]), []).extend(value["_value"])
            elif isinstance(value, dict):
                _add_picture(contents, folder, key, row["step"], value)
            else:
                contents.metrics.setdefault(decode_name(key), []).append((row["step"], value))
    return contents


def _add_picture(contents: Contents, folder: Path, key: str, step: int, value: dict[str, Any]) -> None:
    assert contents.histograms is not None
    assert contents.images is not None
    if value["_type"] == "trackio.histogram":
        contents.histograms.setdefault((decode_name(key), step), []).append(value["values"])
    else:
        content = (folder / "media" / value["file_path"]).read_bytes()
        contents.images.setdefault((decode_name(key.removeprefix("images/")), step), []).append(content)


def of_hosts(folder: Path, project: str, run: str) -> list[dict[str, Any]]:
    """What hosts measured, oldest first, with `timestamp`."""
    from trackio.sqlite_storage import SQLiteStorage

    use_folder(folder)
    return SQLiteStorage.get_system_logs(project, run_id=run)


def _status(project: str, run: str) -> str | None:
    """What was said last, whatever time it carries."""
    from trackio.sqlite_storage import SQLiteStorage

    rows = SQLiteStorage.query_project(project, "SELECT id, run_id, metrics FROM metrics ORDER BY id")["rows"]
    said = [json.loads(row["metrics"])["run/status"] for row in rows if row["run_id"] == run and "run/status" in str(row["metrics"])]
    return said[-1].split(":")[0] if said else None


def seen(folder: Path, run: str, project: str = "samples") -> dict[str, SeenTrajectory]:
    """Traces, each once."""
    found: dict[str, SeenTrajectory] = {}
    for trace in traces(folder, project, run):
        name = trace["metadata"]["trajectory"]
        assert name not in found, "a trajectory stands there twice"
        rewards = [(reward["name"], reward["value"]) for reward in trace["metadata"]["rewards"]]
        found[name] = SeenTrajectory(messages=trace["messages"], rewards=rewards)
    return found
