"""Reads W&B's offline folders back with the official tool and a look into their files; nothing of the backend's own reader."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rollscope_exporters.backends import decode_name
from rollscope_exporters.testing import Contents

OURS = {"_step", "_runtime", "_timestamp", "trainer/global_step", "rollscope/row", "rollscope/hours"}
_STATUS = {0: "finished", 1: "failed", 137: "aborted"}


def run_folders(storage: Path, run: str) -> list[Path]:
    """Folders of a run, oldest first."""
    found = [path.parent for path in (storage / "wandb").glob(f"*run-*/run-{run}.wandb")]
    return sorted(found, key=lambda folder: folder.name.removeprefix("offline-"))


def inspect(folder: Path) -> list[dict[str, Any]]:
    """Every record of a folder's transaction log, as `wandb leet inspect --json` prints them."""
    (log,) = folder.glob("*.wandb")
    answer = subprocess.run(
        [sys.executable, "-m", "wandb", "leet", "inspect", "--json", str(log)], capture_output=True, check=False, cwd=folder
    )
    return [json.loads(line) for line in answer.stdout.splitlines() if line.startswith(b"{")]


def history(folder: Path) -> list[dict[str, Any]]:
    """History rows of a folder."""
    return [record["history"]["item"] for record in inspect(folder) if record["type"] == "history"]


def read_folders(storage: Path, run: str) -> Contents:
    """A run as its folders hold it; several of them are one run that was interrupted."""
    contents = Contents(metrics={}, tables={}, artifacts={}, histograms={}, images={}, status="running")
    names: dict[str, str] = {}
    for folder in run_folders(storage, run):
        interrupted = False
        for record in inspect(folder):
            kind, body = record["type"], record.get(record["type"], {})
            if kind == "run":
                contents.name, contents.status = body["display_name"], "running"
                names |= metric_names(body["config"]["update"])
            elif kind == "config":
                names |= metric_names(body.get("update", {}))
            elif kind == "history":
                _add_row(contents, folder, body["item"], names)
            elif kind == "artifact":
                _add_artifact(contents, body)
            elif kind == "preempting":
                interrupted = True
            elif kind == "exit":
                contents.status = "running" if interrupted else _STATUS[body.get("exit_code", 0)]
    return contents


def metric_names(update: dict[str, Any]) -> dict[str, str]:
    """Key → name of metrics whose name had to be cut, out of an update of the configuration."""
    ours = update.get("rollscope", {})
    found = ours.get("metric_names", {}) if isinstance(ours, dict) else {}
    nested = {
        key.removeprefix("rollscope.metric_names."): value for key, value in update.items() if key.startswith("rollscope.metric_names.")
    }
    return {**found, **nested}


def _add_row(contents: Contents, folder: Path, item: dict[str, Any], names: dict[str, str]) -> None:
    assert contents.metrics is not None
    assert contents.tables is not None
    step = item.get("trainer/global_step")
    for key in [key.removesuffix("._type") for key in item if key.endswith("._type")]:
        name = decode_name(key)
        if item[f"{key}._type"] == "histogram":
            assert contents.histograms is not None
            contents.histograms.setdefault((name, step), []).append(item[f"{key}.values"])
        elif item[f"{key}._type"] == "image-file":
            assert contents.images is not None
            contents.images.setdefault((name, step), []).append((folder / "files" / item[f"{key}.path"]).read_bytes())
        elif not key.startswith(("trajectories/", "message_images/", "late_rewards")):
            contents.tables.setdefault((name, step), []).extend(table(folder, item[f"{key}.path"]))
        item = {other: value for other, value in item.items() if not other.startswith(f"{key}.")}
    for key, value in item.items():
        if key not in OURS:
            contents.metrics.setdefault(names.get(key, decode_name(key)), []).append((step, value))


def table(folder: Path, path: str) -> list[dict[str, Any]]:
    """Rows of a table's file."""
    held = json.loads((folder / "files" / path).read_text())
    return [dict(zip(held["columns"], row, strict=True)) for row in held["data"]]


def digest(storage: Path, run: str, split: str = "train") -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Step and row of every digest table."""
    yield from _tables(storage, run, f"trajectories/{split}")


def late_rewards(storage: Path, run: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Step and row of every table of late rewards."""
    yield from _tables(storage, run, "late_rewards")


def message_images(storage: Path, run: str, split: str = "train") -> Iterator[tuple[int | None, str, bytes]]:
    """Step, caption and content of every image that stands beside a digest table."""
    for folder in run_folders(storage, run):
        for item in history(folder):
            names, captions = (item.get(f"message_images/{split}.{what}", []) for what in ("filenames", "captions"))
            for name, caption in zip(names, captions, strict=True):
                yield item.get("trainer/global_step"), caption, (folder / "files" / name).read_bytes()


def _tables(storage: Path, run: str, key: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    for folder in run_folders(storage, run):
        for item in history(folder):
            if f"{key}.path" in item:
                for row in table(folder, item[f"{key}.path"]):
                    yield item.get("trainer/global_step"), row


def _add_artifact(contents: Contents, body: dict[str, Any]) -> None:
    assert contents.artifacts is not None
    for entry in body["manifest"]["contents"]:
        if "local_path" in entry:
            contents.artifacts[decode_name(body["name"])] = Path(entry["local_path"]).read_bytes()
