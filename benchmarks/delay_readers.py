"""Ask each backend, through its own reader, which trajectories can be seen by now.

A reader is made anew for each run and called again and again; it returns trace ids, new ones at least.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from .delay_recorder import MARK, RUN

Reader = Callable[[], set[str]]
_FOUND = re.compile(MARK.encode() + rb"([0-9a-f]{32})")


def _marks(contents: Iterable[bytes]) -> set[str]:
    return {found.decode() for content in contents for found in _FOUND.findall(content)}


def mlflow(out: Path, uri: str) -> Reader:
    """`search_traces`, newest first until nothing is new: an entry of the list of traces, whose spans are there."""
    from mlflow import MlflowClient

    client = MlflowClient(uri)
    client.search_experiments()  # makes the tables, before anybody else does
    seen: set[str] = set()

    def read() -> set[str]:
        experiment = client.get_experiment_by_name("bench")
        page = None
        while experiment is not None:
            found = client.search_traces(
                locations=[experiment.experiment_id], max_results=200, order_by=["timestamp_ms DESC"], page_token=page, include_spans=False
            )
            new = {trace.info.trace_id.removeprefix("tr-") for trace in found} - seen
            seen.update(new)
            page = found.token
            if not page or not new:
                break
        return seen

    return read


def wandb(out: Path, uri: str) -> Reader:
    """Files, as W&B's own reader is a program of seconds: a row of a table file in the run's folder."""
    seen: dict[Path, set[str]] = {}

    def read() -> set[str]:
        for file in out.rglob("*.table.json"):
            if not seen.get(file):
                seen[file] = _marks([file.read_bytes()])
        return set().union(*seen.values())

    return read


def swanlab(out: Path, uri: str) -> Reader:
    """The run file by SwanLab's `DataStoreReader`: a text or table whose file is there."""
    from swanlab.proto.swanlab.record.v1.record_pb2 import Record
    from swanlab.sdk.internal.core_python.store import DataStoreReader

    kinds = {4: "text", 6: "echarts"}

    def read() -> set[str]:
        return _marks(content for log in out.glob("run-*/*.swanlab") for content in media(log))

    def media(log: Path) -> Iterator[bytes]:
        reader = DataStoreReader()
        reader.open(log)
        with suppress(EOFError, ValueError, OSError):
            for raw in reader:
                record = Record.FromString(raw)
                if record.HasField("media") and record.media.type in kinds:
                    for item in record.media.value.items:
                        yield (log.parent / "media" / kinds[record.media.type] / item.filename).read_bytes()
        reader.close()

    return read


def tensorboard(out: Path, uri: str) -> Reader:
    """TensorBoard's `EventAccumulator`, reloaded: a text event."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    accumulators: dict[Path, Any] = {}

    def read() -> set[str]:
        return _marks(text for folder in {file.parent for file in out.rglob("events.out.tfevents.*")} for text in texts(folder))

    def texts(folder: Path) -> Iterator[bytes]:
        if folder not in accumulators:
            accumulators[folder] = EventAccumulator(str(folder), size_guidance={"tensors": 0})
        accumulator = accumulators[folder].Reload()
        for tag in accumulator.Tags()["tensors"]:
            for event in accumulator.Tensors(tag):
                yield from event.tensor_proto.string_val

    return read


def trackio(out: Path, uri: str) -> Reader:
    """trackio's `SQLiteStorage.get_traces`: a trace."""
    from trackio import sqlite_storage, utils

    for module in (sqlite_storage, utils):
        vars(module).update(TRACKIO_DIR=out, MEDIA_DIR=out / "media")
    seen: set[str] = set()

    def read() -> set[str]:
        found = sqlite_storage.SQLiteStorage.get_traces("bench", run_id=RUN, sort="step_asc", offset=len(seen))
        seen.update(trace["metadata"]["trajectory"] for trace in found)
        return seen

    return read


def jsonl(out: Path, uri: str) -> Reader:
    """The file: a whole line."""
    ends: dict[Path, int] = {}

    def read() -> set[str]:
        return _marks(lines(file) for file in out.rglob("trajectories*"))

    def lines(file: Path) -> bytes:
        with file.open("rb") as opened:
            opened.seek(ends.get(file, 0))
            content = opened.read()
        whole = content[: content.rfind(b"\n") + 1]
        ends[file] = ends.get(file, 0) + len(whole)
        return whole

    return read


READERS: dict[str, Callable[[Path, str], Reader]] = {
    "mlflow": mlflow,
    "wandb": wandb,
    "swanlab": swanlab,
    "tensorboard": tensorboard,
    "trackio": trackio,
    "jsonl": jsonl,
}
