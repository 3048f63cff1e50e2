"""Reads a run back from the stand-in server, in the terms of the conformance suite."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from rollscope_exporters.backends import decode_name
from rollscope_exporters.testing import Contents
from tests.exporters.backends.wandb.folders import OURS
from tests.standins.wandb_server import StoredRun, WandbServer

_STATES = {"finished": "finished", "failed 1": "failed", "failed 137": "aborted", "preempted": "running"}


def read_server(server: WandbServer, run: str) -> Contents:
    """A run as the server holds it."""
    stored = server.runs[run]
    contents = Contents(1, stored.display_name, _STATES.get(stored.state, stored.state), {}, None, None, {}, {}, {}, {})
    assert contents.metrics is not None
    assert contents.tables is not None
    names = stored.config["rollscope"].get("metric_names", {})
    for row in stored.history:
        step = row.get("trainer/global_step")
        for key, value in row.items():
            if isinstance(value, dict):
                if value["_type"] == "histogram":
                    assert contents.histograms is not None
                    contents.histograms.setdefault((decode_name(key), step), []).append(value["values"])
                elif value["_type"] == "image-file":
                    assert contents.images is not None
                    contents.images.setdefault((decode_name(key), step), []).append(stored.files[value["path"]])
                elif not key.startswith(("trajectories/", "message_images/", "late_rewards")):
                    contents.tables.setdefault((decode_name(key), step), []).extend(table(stored, value))
            elif key not in OURS:
                contents.metrics.setdefault(names.get(key, decode_name(key)), []).append((step, value))
    contents.artifacts = {
        decode_name(artifact.name): content for artifact in server.artifacts if artifact.committed for content in artifact.files.values()
    }
    return contents


def table(stored: StoredRun, reference: dict[str, Any]) -> list[dict[str, Any]]:
    """Rows of a table's file as it was uploaded."""
    held = json.loads(stored.files[reference["path"]])
    return [dict(zip(held["columns"], row, strict=True)) for row in held["data"]]


def rows_of(stored: StoredRun, key: str) -> Iterator[tuple[int | None, dict[str, Any]]]:
    """Step and row of every table of one name."""
    for row in stored.history:
        if isinstance(row.get(key), dict):
            for found in table(stored, row[key]):
                yield row.get("trainer/global_step"), found


def message_images(stored: StoredRun, split: str = "train") -> Iterator[tuple[int | None, str, bytes]]:
    """Step, caption and content of every image that stands beside a digest table."""
    for row in stored.history:
        if shown := row.get(f"message_images/{split}"):
            for name, caption in zip(shown["filenames"], shown["captions"], strict=True):
                yield row.get("trainer/global_step"), caption, stored.files[name]
