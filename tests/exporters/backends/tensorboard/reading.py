"""Event files read by TensorBoard's own accumulator."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rollscope_exporters.backends import decode_name
from rollscope_exporters.testing import Contents


def accumulate(folder: Path) -> Any:
    """Everything below one run's folder, unsampled."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulator = EventAccumulator(str(folder), size_guidance={"tensors": 0, "scalars": 0})
    return accumulator.Reload()


def folders_of(root: Path, run: str) -> list[Path]:
    return sorted({path.parent for path in root.rglob("events.out.tfevents.*") if path.parent.name.endswith(run)})


def texts(accumulator: Any, tag: str) -> list[tuple[int, list[str]]]:
    """Step and texts of every event of a tag."""
    from tensorboard.util.tensor_util import make_ndarray

    found = []
    for event in accumulator.Tensors(tag):
        array = make_ndarray(event.tensor_proto)
        found.append((event.step, [item.decode() for item in array.reshape(-1)]))
    return found


def scalars(accumulator: Any, tag: str) -> list[tuple[int, float, float]]:
    """Step, value and wall time of every event of a tag; what TensorBoard shows is the same to 32 bits."""
    from tensorboard.util.tensor_util import make_ndarray

    found = []
    for event in accumulator.Tensors(tag):
        (whole,) = event.tensor_proto.double_val
        shown = make_ndarray(event.tensor_proto).item()
        assert shown == pytest.approx(whole, rel=1e-6, abs=1e-30, nan_ok=True) or abs(whole) > 3e38
        found.append((event.step, whole, event.wall_time))
    return found


def read_tensorboard(root: Path, run: str) -> Contents:
    """A run's event files. Rewards stand in the digest and in what came late."""
    folders = folders_of(root, run)
    contents = Contents(copies=len(folders), metrics={}, tables={}, histograms={}, images={})
    if not folders:
        return contents
    accumulator = accumulate(folders[0])
    assert contents.metrics is not None
    assert contents.tables is not None
    for tag in accumulator.Tags()["tensors"]:
        metadata = accumulator.SummaryMetadata(tag)
        if metadata.plugin_data.plugin_name == "scalars":
            name = metadata.display_name or decode_name(tag)
            contents.metrics[name] = [(step, value) for step, value, _ in scalars(accumulator, tag)]
        elif metadata.plugin_data.plugin_name in ("histograms", "images") and not tag.startswith("message_images/"):
            _add_picture(contents, metadata.plugin_data.plugin_name, metadata.display_name, accumulator.Tensors(tag))
        elif tag.startswith("tables/"):
            for step, (table,) in texts(accumulator, tag):
                contents.tables.setdefault((decode_name(tag.removeprefix("tables/")), step), []).extend(rows_of(table))
    about = json.loads(texts(accumulator, "run/about")[0][1][0].removeprefix("```json\n").removesuffix("\n```"))
    contents.name = about["name"]
    contents.status = texts(accumulator, "run/status")[-1][1][0].split(":")[0]
    return contents


def _add_picture(contents: Contents, plugin: str, name: str, events: Any) -> None:
    from tensorboard.util.tensor_util import make_ndarray

    for event in events:
        array = make_ndarray(event.tensor_proto)
        if plugin == "histograms":
            assert contents.histograms is not None
            assert array.shape[1] == 3
            contents.histograms.setdefault((name, event.step), []).append([int(count) for count in array[:, 2]])
        else:
            assert contents.images is not None
            contents.images.setdefault((name, event.step), []).append(bytes(array[2]))


def conversations(accumulator: Any, split: str = "train") -> list[list[dict[str, object]]]:
    """Messages of every trajectory in the digests."""
    return [json.loads(text) for _, told in texts(accumulator, f"messages/{split}") for text in told]


def rows_of(table: str) -> list[dict[str, object]]:
    """Rows of a table in Markdown."""
    lines = [re.split(r"(?<!\\) ?\| ?", line)[1:-1] for line in table.splitlines() if line.startswith("|")]
    return [dict(zip(lines[0], map(_cell, line), strict=True)) for line in lines[2:]] if lines else []


def _cell(cell: str) -> object:
    shown = re.sub(r"\\(.)", r"\1", cell)
    try:
        return json.loads(shown) if shown else None
    except ValueError:
        return shown
