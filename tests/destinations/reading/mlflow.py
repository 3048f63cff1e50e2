"""MLflow by its own client."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, image_of, leaves, spelled, told_later
from tests.destinations.program import PROJECT, UNUSUAL, VALUES

_KEYS = {name: name.replace("@", "_at_") for name in VALUES}


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Run, metric history, artifacts, traces with assessments."""
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{storage / 'mlflow.db'}")
    experiment = client.get_experiment_by_name(PROJECT)
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id], f"tags.`rollscope.run.id` = '{told['run']}'")
    tags = run.data.tags
    config = leaves(json.loads(_file(client, run, "config.json")))
    assert run.data.params.keys() == config.keys()
    ended = {"FINISHED": "finished"}[run.info.status]
    return {
        "run.id": As(tags["rollscope.run.id"], "tag"),
        "run.name": run.info.run_name,
        "run.config": As(config, "`config.json`, params as text"),
        "run.tags": sorted(tag for tag in tags if tag in ("baseline", "第一次")),
        "run.notes": tags["mlflow.note.content"],
        "run.python": As(tags["circumstances.python"], "tags, `circumstances.json`"),
        "run.end": ended,
        "metric.word": As(tags["phase/name"], "tag"),
        **_metrics(client, run, told),
        **_files(client, run),
        **_trajectory(client, experiment.experiment_id, run, told),
    }


def _metrics(client: Any, run: Any, told: dict[str, Any]) -> Held:
    def history(key: str) -> dict[int, Any]:
        return {point.step: point for point in client.get_metric_history(run.info.run_id, key)}

    at = {name: history(key)[3] for name, key in _KEYS.items()}
    unusual = {name: spelled(value) if (value := history(name)[3].value) != value else _largest(value) for name in UNUSUAL}
    demo = client.search_runs([client.get_experiment_by_name("tool-rl").experiment_id], f"tags.`rollscope.run.id` = '{told['demo']}'")[0]
    hosts = {name.rpartition("/")[2] for name in demo.data.metrics if name.startswith("system/")}
    return {
        "metric.value": {name: (point.step, point.value) for name, point in at.items()},
        "metric.late": (2, history("reward/mean")[2].value),
        "metric.time": {name: point.timestamp * 1_000_000 for name, point in at.items()},
        "metric.unusual": As(unusual, "infinities as ±1.8e308"),
        "metric.hosts": As(sorted(hosts & {"cpu.utilization", "memory.utilization"}), "system metrics"),
    }


def _largest(value: float) -> str:
    assert abs(value) > 1.7e308
    return "Infinity" if value > 0 else "-Infinity"


def _file(client: Any, run: Any, path: str) -> bytes:
    return Path(client.download_artifacts(run.info.run_id, path)).read_bytes()


def _files(client: Any, run: Any) -> Held:
    def only(folder: str, ending: str) -> str:
        (path,) = (file.path for file in client.list_artifacts(run.info.run_id, folder) if file.path.endswith(ending))
        return str(path)

    histogram = json.loads(_file(client, run, only("histograms/reward/dist", ".json")))
    table = json.loads(_file(client, run, only("tables/val/generations", ".json")))
    picture = only("images", ".png")
    actor = json.loads(run.data.tags["artifact.actor"])
    return {
        "histogram.bins": As((histogram["step"], histogram["edges"], histogram["counts"]), "JSON, and lines of quantiles"),
        "histogram.nan": As(histogram["nan"], "JSON, and a line"),
        "image.bytes": (int(picture.split("+")[2]), _file(client, run, picture)),
        "image.caption": As(_file(client, run, picture.replace(".png", ".txt")).decode(), "text file"),
        "table.rows": (
            int(only("tables/val/generations", ".json").rpartition("/")[2].split("-")[1]),
            [dict(zip(table["columns"], row, strict=True)) for row in table["data"]],
        ),
        "file.content": _file(client, run, "configs/train.yaml"),
        "checkpoint.place": As((actor["uri"].rpartition("/")[2], *actor["aliases"]), "tag"),
    }


def _trajectory(client: Any, experiment: str, run: Any, told: dict[str, Any]) -> Held:
    found = client.search_traces(locations=[experiment], run_id=run.info.run_id, max_results=50)
    traces = {trace.info.trace_id.removeprefix("tr-"): trace for trace in found}
    one, failed, seen = (traces.pop(told[key]) for key in ("trajectory", "failed", "seen"))
    ((step,),) = ([trace] for trace in traces.values())
    spans = {span.span_id: span for span in one.data.spans}
    (root,) = (span for span in one.data.spans if span.parent_id is None)
    chat = next(span for span in one.data.spans if span.name.startswith("chat"))
    scores = {item.name: item for item in one.info.assessments}
    tags = one.info.tags
    (shards,) = (span for span in step.data.spans if span.name == "load shards")
    return {
        "trajectory.messages": As([*root.inputs["messages"], *root.outputs], "chat view"),
        "trajectory.image": As(image_of(seen.data.spans[0].inputs["messages"]), "chat view"),
        "trajectory.tools": root.attributes["mlflow.chat.tools"],
        "trajectory.text": chat.attributes["rl.tokens.prompt.text"] + chat.attributes["rl.tokens.output.text"],
        "trajectory.usage": tuple(int(tags[f"{side}_tokens"]) for side in ("input", "output")),
        "trajectory.reward": As(scores["reward"].feedback.value, "assessment"),
        "trajectory.components": As({name: scores[f"reward.{name}"].feedback.value for name in ("answer", "format")}, "assessments"),
        "trajectory.explanation": As(scores["reward"].rationale, "rationale"),
        "trajectory.late_reward": As(("judge", scores["judge"].feedback.value), "assessment"),
        "trajectory.late_facts": As(told_later({key: json.loads(text) for key, text in tags.items() if key in _LATE}), "tags"),
        "trajectory.identity": As((tags["rl.group.id"], int(tags["rl.trajectory.index"]), int(tags["rl.policy.version"])), "tags"),
        "trajectory.outcome": failed.info.tags["rl.trajectory.outcome"],
        "trajectory.error": failed.data.spans[0].status.description.partition(": ")[2],
        "trajectory.spans": {id: span.parent_id for id, span in spans.items()},
        "trajectory.times": {id: span.start_time_ns for id, span in spans.items()},
        "trajectory.step": As(int(tags["rl.loop.iteration"]), "tag"),
        "trace.spans": {span.span_id: span.parent_id for span in step.data.spans},
        "trace.attributes": shards.attributes["shards"],
    }


_LATE = ("rl.advantage.value", "rl.trajectory.filtered")
