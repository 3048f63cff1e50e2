"""JSONL files, line by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.destinations.facts import Held, leaves, spelled, told_later
from tests.destinations.program import UNUSUAL, VALUES


def read(storage: Path, told: dict[str, Any]) -> Held:
    """Everything: JSONL keeps records as they are."""
    folder = storage / "jsonl" / told["run"]

    def lines(signal: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (folder / f"{signal}.jsonl").read_text(encoding="utf-8").splitlines()]

    start, *_, end = lines("runs")
    at = {line["step"]: line for line in lines("metrics") if line.get("step") in (2, 3)}
    (histogram,), (table,), (log,) = lines("histograms"), lines("tables"), lines("logs")
    (plot,) = (line for line in lines("images") if line.get("name") == "val/plot")
    files = {line["name"]: line for line in lines("artifacts")}
    return {
        "run.id": start["run"],
        "run.name": start["name"],
        "run.config": leaves(start["config"]),
        "run.tags": sorted(start["tags"]),
        "run.notes": start["notes"],
        "run.python": start["circumstances"]["python"],
        "run.end": end["status"],
        "metric.value": {name: (3, at[3]["values"][name]) for name in VALUES},
        "metric.late": (2, at[2]["values"]["reward/mean"]),
        "metric.time": dict.fromkeys(VALUES, at[3]["time"]),
        "metric.unusual": {name: spelled(at[3]["values"][name]) for name in UNUSUAL},
        "metric.word": at[3]["values"]["phase/name"],
        "metric.hosts": _hosts(storage, told["demo"]),
        "histogram.bins": (histogram["step"], histogram["edges"], histogram["counts"]),
        "histogram.nan": histogram["nan"],
        "image.bytes": (plot["step"], _image(folder, plot["digest"])),
        "image.caption": plot["caption"],
        "table.rows": (table["step"], table["rows"]),
        "file.content": (folder / "artifacts" / "configs" / "train.yaml").read_bytes(),
        "checkpoint.place": (files["actor"]["uri"].rpartition("/")[2], *files["actor"]["aliases"]),
        "log.line": log["body"],
        **_trajectories(folder, lines("trajectories"), told),
        **_traces(lines("traces")),
    }


def _hosts(storage: Path, run: str) -> list[str]:
    path = storage / "jsonl" / run / "metrics.jsonl"
    names = {name.rpartition("/")[2] for line in path.read_text(encoding="utf-8").splitlines() for name in json.loads(line)["values"]}
    return sorted(names & {"cpu.utilization", "memory.utilization"})


def _image(folder: Path, digest: str) -> bytes:
    return (folder / "images" / f"{digest.removeprefix('sha256:')}.png").read_bytes()


def _trajectories(folder: Path, lines: list[dict[str, Any]], told: dict[str, Any]) -> Held:
    whole = {line["id"]: line for line in lines if line["record"] == "trajectory"}
    late = [line for line in lines if line["record"] == "late_facts" and line["trajectory"] == told["trajectory"]]
    one, failed = whole[told["trajectory"]], whole[told["failed"]]
    reward, *later = [*one["rewards"], *(reward for line in late for reward in line.get("rewards", []))]
    tokens = one["tokens"]
    reference = whole[told["seen"]]["messages"][0]["content"][0]["image_url"]["url"]
    (error,) = (fields["exception.message"] for _, name, fields in failed["spans"][0]["events"] if name == "exception")
    return {
        "trajectory.messages": one["messages"],
        "trajectory.image": _image(folder, reference.split(";")[0].removeprefix("rollscope-image:")),
        "trajectory.tools": one["generations"][0]["tools"],
        "trajectory.text": "".join(segment["text"] for segment in tokens),
        "trajectory.ids": [id for segment in tokens for id in segment["ids"]],
        "trajectory.logprobs": tokens[-1]["logprobs"],
        "trajectory.mask": tokens[-1]["loss_mask"],
        "trajectory.usage": tuple(one["spans"][0]["attributes"][f"gen_ai.usage.{side}_tokens"] for side in ("input", "output")),
        "trajectory.reward": reward["value"],
        "trajectory.components": reward["components"],
        "trajectory.explanation": reward["explanation"],
        "trajectory.late_reward": (later[0]["name"], later[0]["value"]),
        "trajectory.late_facts": told_later({key: value for line in [one, *late] for key, value in line.get("facts", {}).items()}),
        "trajectory.identity": (one["group"], one["index"], one["policy_version"]),
        "trajectory.outcome": failed["outcome"],
        "trajectory.error": error,
        "trajectory.spans": {span["span_id"]: span.get("parent_id") for span in one["spans"]},
        "trajectory.times": {span["span_id"]: span["start"] for span in one["spans"]},
        "trajectory.step": one["step"],
    }


def _traces(lines: list[dict[str, Any]]) -> Held:
    spans = [span for line in lines for span in line["spans"]]
    (shards,) = (span["attributes"]["shards"] for span in spans if span["name"] == "load shards")
    return {"trace.spans": {span["span_id"]: span.get("parent_id") for span in spans}, "trace.attributes": shards}
