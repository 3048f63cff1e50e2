"""SwanLab's run files read by SwanLab's own reader, and what stands in its media files."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

from rollscope_exporters.backends import decode_name
from rollscope_exporters.histograms import summary
from rollscope_exporters.testing import Contents, Sampler

INTERRUPTED = "rollscope: the bridge stopped while the run went on"


class Point(NamedTuple):
    """A scalar of a run file."""

    key: str
    step: int
    time: int
    value: float


def folders_of(root: Path, run: str) -> list[Path]:
    return sorted(path for path in root.glob(f"run-*-{run}") if path.is_dir())


def protobuf(folder: Path) -> list[Any]:
    """Every record of a folder's file."""
    from swanlab.proto.swanlab.record.v1.record_pb2 import Record
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    (path,) = folder.glob("*.swanlab")
    reader = DataStoreReader()
    reader.open(path)
    records = []
    for raw in reader:
        records.append(Record())
        records[-1].ParseFromString(raw)
    reader.close()
    return records


def scalars(folder: Path) -> list[Point]:
    return [
        Point(item.scalar.key, item.scalar.step, item.scalar.timestamp.ToNanoseconds(), item.scalar.value.number)
        for item in protobuf(folder)
        if item.HasField("scalar")
    ]


def media(folder: Path) -> dict[str, dict[int, list[tuple[str, str]]]]:
    """Key → step → content and caption of each text or table."""
    kinds = {4: "text", 6: "echarts"}
    return {
        key: {step: [(content.decode(), caption) for content, caption in items] for step, items in steps.items()}
        for key, steps in _media(folder, kinds).items()
    }


def images(folder: Path) -> dict[str, dict[int, list[tuple[bytes, str]]]]:
    """Key → step → content and caption of each image."""
    return _media(folder, {2: "image"})


def _media(folder: Path, kinds: dict[int, str]) -> dict[str, dict[int, list[tuple[bytes, str]]]]:
    found: dict[str, dict[int, list[tuple[bytes, str]]]] = {}
    for item in protobuf(folder):
        if item.HasField("media") and item.media.type in kinds:
            steps = found.setdefault(item.media.key, {})
            assert item.media.step not in steps, f"{item.media.key} at {item.media.step} stands there twice"
            place = folder / "media" / kinds[item.media.type]
            steps[item.media.step] = [((place / file.filename).read_bytes(), file.caption) for file in item.media.value.items]
    return found


def config(folder: Path) -> dict[str, Any]:
    import yaml

    held = yaml.safe_load((folder / "files" / "config.yaml").read_text("utf-8"))
    return {key: entry["value"] for key, entry in held.items()}


def read_swanlab(root: Path, run: str) -> Contents:
    """A run's folder."""
    folders = folders_of(root, run)
    contents = Contents(copies=len(folders), metrics={}, tables={}, images={})
    if not folders:
        return contents
    ours = config(folders[-1])["rollscope"]
    originals = ours.get("metric_names", {})
    assert contents.metrics is not None
    assert contents.tables is not None
    for point in scalars(folders[-1]):
        contents.metrics.setdefault(originals.get(point.key, decode_name(point.key)), []).append((point.step, point.value))
    derived = {f"{Sampler().histogram().name}/{suffix}" for suffix in summary(Sampler().histogram())}
    assert derived <= set(contents.metrics) or not derived & set(contents.metrics)
    contents.metrics = {name: points for name, points in contents.metrics.items() if name not in derived}
    for key, steps in media(folders[-1]).items():
        if key.startswith("tables/"):
            for step, [(content, _)] in steps.items():
                contents.tables[decode_name(key.removeprefix("tables/")), step] = json.loads(content)["rowData"]
    for key, steps in images(folders[-1]).items():
        if key.startswith("images/"):
            for step, items in steps.items():
                assert contents.images is not None
                contents.images[decode_name(key.removeprefix("images/")), step] = [content for content, _ in items]
    contents.name = ours["name"]
    contents.status = status(folders[-1])
    return contents


def experiments(root: Path) -> list[tuple[str, str]]:
    """Folder and name of every run that the local dashboard shows."""
    with closing(sqlite3.connect(root / "runs.swanlab")) as database:
        return list(database.execute("select run_id, name from experiment order by id"))


def status(folder: Path) -> str:
    for item in protobuf(folder):
        if item.HasField("finish") and item.finish.error != INTERRUPTED:
            return {1: "finished", 2: "failed", 3: "aborted"}[_state(item.finish.state)]
    return "running"


def _state(state: int) -> int:
    from swanlab.proto.swanlab.run.v1 import run_pb2

    return {run_pb2.RUN_STATE_FINISHED: 1, run_pb2.RUN_STATE_CRASHED: 2, run_pb2.RUN_STATE_ABORTED: 3}[state]
