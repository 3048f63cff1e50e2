"""Read destinations back for the conformance suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rollscope_exporters.backends import decode_name
from rollscope_exporters.histograms import QUANTILES
from rollscope_exporters.testing import Contents, SeenTrajectory

_STATUS = {"RUNNING": "running", "FINISHED": "finished", "FAILED": "failed", "KILLED": "aborted"}


def read_mlflow(uri: str, run: str, project: str = "samples", store: str = "") -> Contents:
    """A run of MLflow with its metrics, traces, tables and artifacts; `store` is the server's own database, asked where there is a lot."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(project)
    assert experiment is not None
    found = client.search_runs([experiment.experiment_id], f"tags.`rollscope.run.id` = '{run}'")
    assert found, f"no run {run}"
    only = found[0]
    files = list(_artifacts(client, only.info.run_id))
    contents = Contents(len(found), only.info.run_name, _STATUS[only.info.status])
    contents.metrics = _mlflow_metrics(client, MlflowClient(store or uri), only, files)
    contents.trajectories, contents.traces = _mlflow_traces(client, experiment.experiment_id, only.info.run_id)
    contents.tables = _mlflow_tables(client, only.info.run_id, files)
    contents.artifacts = _mlflow_artifacts(client, only)
    contents.histograms, contents.images = _mlflow_pictures(client, only.info.run_id, files)
    derived = {f"{name}/{suffix}" for name, _ in contents.histograms for suffix in (*QUANTILES, "min", "mean", "max", "nan", "inf")}
    contents.metrics = {name: points for name, points in contents.metrics.items() if name not in derived}
    return contents


def _mlflow_metrics(client: Any, store: Any, run: Any, files: list[str]) -> dict[str, list[tuple[int | None, object]]]:
    originals = json.loads(_load(client, run.info.run_id, "metric_names.json")) if "metric_names.json" in files else {}
    return {
        originals.get(key, decode_name(key)): [(point.step, point.value) for point in store.get_metric_history(run.info.run_id, key)]
        for key in run.data.metrics
    }


def _mlflow_traces(client: Any, experiment: str, run_id: str) -> tuple[dict[str, SeenTrajectory], dict[str, set[str]]]:
    trajectories, traces = {}, {}
    for trace in all_traces(client, experiment, run_id):
        name, spans = trace.info.trace_id.removeprefix("tr-"), {span.span_id for span in trace.data.spans}
        if "rl.trajectory.outcome" in trace.info.tags:
            rewards = [(item.name.replace(".", "/"), item.feedback.value) for item in trace.info.assessments]
            trajectories[name] = SeenTrajectory(spans, conversation_of(trace), rewards)
        else:
            traces[name] = spans
    return trajectories, traces


def all_traces(client: Any, experiment: str, run_id: str) -> list[Any]:
    """Every trace of a run, page by page."""
    found, token = [], None
    while True:
        page = client.search_traces(locations=[experiment], run_id=run_id, max_results=50, page_token=token)
        found += list(page)
        token = page.token
        if not token:
            return found


def conversation_of(trace: Any) -> list[dict[str, object]]:
    """The whole conversation as the root span holds it."""
    root = next(span for span in trace.data.spans if span.parent_id is None)
    messages: list[dict[str, object]] = [*root.inputs["messages"], *root.outputs] if root.inputs else []
    return messages


def _mlflow_tables(client: Any, run_id: str, files: list[str]) -> dict[tuple[str, int | None], list[dict[str, object]]]:
    tables: dict[tuple[str, int | None], list[dict[str, object]]] = {}
    for path in files:
        if not path.startswith("tables/"):
            continue
        folder, _, file = path.removeprefix("tables/").rpartition("/")
        step = int(file.split("-")[1]) if file.startswith("step-") else None
        table = json.loads(_load(client, run_id, path))
        rows = [dict(zip(table["columns"], row, strict=True)) for row in table["data"]]
        tables.setdefault((decode_name(folder), step), []).extend(rows)
    return tables


def _mlflow_artifacts(client: Any, run: Any) -> dict[str, bytes]:
    tags = {tag: json.loads(value) for tag, value in run.data.tags.items() if tag.startswith("artifact.")}
    names = [decode_name(tag.removeprefix("artifact.")) for tag, facts in tags.items() if "uri" not in facts]
    return {name: _load(client, run.info.run_id, name) for name in names if not name.startswith("..")}


def _mlflow_pictures(client: Any, run_id: str, files: list[str]) -> tuple[dict[Any, list[list[int]]], dict[Any, list[bytes]]]:
    """Histograms, and images in the layout of MLflow's image charts."""
    histograms: dict[Any, list[list[int]]] = {}
    images: dict[Any, list[bytes]] = {}
    for path in files:
        if path.startswith("histograms/"):
            found = json.loads(_load(client, run_id, path))
            histograms.setdefault((found["name"], found["step"]), []).append(found["counts"])
        elif path.startswith("images/") and path.endswith(".png"):
            key, _, step, _, _, _ = path.removeprefix("images/").split("+")
            images.setdefault((decode_name(key.replace("~", "/")), int(step)), []).append(_load(client, run_id, path))
            assert path.replace(".png", "+compressed.webp") in files
    return histograms, images


def _artifacts(client: Any, run_id: str, path: str | None = None) -> list[str]:
    found = []
    for file in client.list_artifacts(run_id, path):
        found += _artifacts(client, run_id, file.path) if file.is_dir else [file.path]
    return found


def _load(client: Any, run_id: str, path: str) -> bytes:
    return Path(client.download_artifacts(run_id, path)).read_bytes()


def read_jsonl(root: Path, run: str) -> Contents:
    """A run's JSONL files."""
    from rollscope_exporters.backends.jsonl import files_of

    def lines(signal: str) -> list[dict[str, Any]]:
        return [json.loads(line) for file in files_of(root, run, signal) for line in file.read_text().splitlines()]

    contents = Contents(metrics={}, trajectories={}, traces={}, tables={}, artifacts={})
    for line in lines("runs"):
        contents.name = line.get("name", contents.name)
        contents.status = line.get("status", "running")
    assert contents.metrics is not None
    for line in lines("metrics"):
        for name, value in line["values"].items():
            contents.metrics.setdefault(name, []).append((line.get("step"), value))
    _jsonl_trajectories(contents, lines("trajectories"))
    _jsonl_others(contents, root, run, lines)
    return contents


def _jsonl_trajectories(contents: Contents, lines: list[dict[str, Any]]) -> None:
    assert contents.trajectories is not None
    for line in lines:
        rewards = [pair for reward in line.get("rewards", []) for pair in _rewards(reward)]
        if line["record"] == "late_facts":
            contents.trajectories[line["trajectory"]].rewards += rewards
            continue
        assert line["id"] not in contents.trajectories, "a trajectory stands there twice"
        spans = {span["span_id"] for span in line["spans"]}
        contents.trajectories[line["id"]] = SeenTrajectory(spans, line.get("messages", []), rewards)


def _rewards(reward: dict[str, Any]) -> list[tuple[str, float]]:
    name = reward.get("name", "reward")
    return [(name, reward["value"]), *((f"{name}/{part}", value) for part, value in reward.get("components", {}).items())]


def _jsonl_others(contents: Contents, root: Path, run: str, lines: Any) -> None:
    assert contents.traces is not None
    assert contents.tables is not None
    for line in lines("traces"):
        contents.traces.setdefault(line["trace_id"], set()).update(span["span_id"] for span in line["spans"])
    for line in lines("tables"):
        contents.tables.setdefault((line["name"], line.get("step")), []).extend(line["rows"])
    contents.histograms, contents.images = {}, {}
    for line in lines("histograms"):
        contents.histograms.setdefault((line["name"], line.get("step")), []).append(line["counts"])
    for line in lines("images"):
        content = (root / run / "images" / f"{line['digest'].removeprefix('sha256:')}.png").read_bytes()
        contents.images.setdefault((line["name"], line.get("step")), []).append(content)
    names = [line["name"] for line in lines("artifacts") if "uri" not in line]
    contents.artifacts = {name: (root / run / "artifacts" / name).read_bytes() for name in names if not name.startswith("..")}
    contents.logs = [line["body"] for line in lines("logs")]


def read_console(path: Path, run: str) -> Contents:
    """What lines tell: the run's state, and which steps there were. Lines carry the run's name, so runs of one name are told apart by
    the id in their first line only; a log of two runs is not read."""
    lines = path.read_text().splitlines()
    starts = [line for line in lines if " id run-" in line]
    if len({line.split(" id ")[1].split()[0] for line in starts}) > 1:
        return Contents()
    ends = [line for line in lines if line.split()[-1] in {"finished", "failed", "aborted"}]
    last_start = max((place for place, line in enumerate(lines) if line in starts), default=-1)
    last_end = max((place for place, line in enumerate(lines) if line in ends), default=-1)
    status = lines[last_end].split()[-1] if last_end > last_start else "running"
    return Contents(status=status if lines else None)
