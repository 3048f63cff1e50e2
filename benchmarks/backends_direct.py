"""`python -m benchmarks.backends_direct BACKEND FOLDER URI MATERIAL`: a library called as its documentation shows it, without us.

Opens the library, prints `ready`, waits for a line on standard input, logs everything in the file MATERIAL, lets the library finish,
prints `done`, waits for a second line and ends.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rollscope_exporters.records import Record, StepMetrics, Trajectory
from rollscope_exporters.records import decode as decode_record


class Library(NamedTuple):
    """One way to log."""

    metrics: Callable[[int, dict[str, Any]], object]
    """(step, values)"""
    trajectories: Callable[[int, list[Trajectory]], object]
    """(step, all of it)"""
    finish: Callable[[], object]


def _columns(trajectory: Trajectory) -> dict[str, object]:
    return {
        "group": trajectory.group,
        "index": trajectory.index,
        "reward": trajectory.reward,
        "messages": json.dumps(trajectory.messages, ensure_ascii=False),
    }


def _mlflow(folder: Path, uri: str) -> Library:
    import mlflow

    mlflow.set_tracking_uri(uri)
    if uri.startswith("sqlite"):
        mlflow.create_experiment("direct", artifact_location=str(folder / "artifacts"))
    mlflow.set_experiment("direct")
    mlflow.start_run()

    def trajectories(step: int, found: list[Trajectory]) -> None:
        traces = [(_mlflow_trace(trajectory), trajectory) for trajectory in found]
        mlflow.flush_trace_async_logging()  # a trace takes feedback once it is there
        for trace_id, trajectory in traces:
            mlflow.log_feedback(trace_id=trace_id, name="reward", value=trajectory.reward)

    def finish() -> None:
        mlflow.flush_trace_async_logging(terminate=True)
        mlflow.end_run()

    return Library(lambda step, values: mlflow.log_metrics(values, step=step), trajectories, finish)


def _mlflow_trace(trajectory: Trajectory) -> str:
    import mlflow

    answers = {message["tool_call_id"]: message["content"] for message in trajectory.messages if message["role"] == "tool"}
    with mlflow.start_span(f"invoke_agent {trajectory.agent}", span_type="AGENT") as root:
        root.set_attributes({"group": trajectory.group, "index": trajectory.index, "step": trajectory.step})
        root.set_inputs({"messages": trajectory.messages[:2]})
        for generation in trajectory.generations:
            with mlflow.start_span("turn"):
                with mlflow.start_span(f"chat {generation.model}", span_type="CHAT_MODEL") as chat:
                    chat.set_inputs({"messages": generation.input})
                    chat.set_outputs({"choices": [{"message": message} for message in generation.output]})
                for call in _calls(generation.output):
                    with mlflow.start_span(call["function"]["name"], span_type="TOOL") as tool:
                        tool.set_inputs(json.loads(call["function"]["arguments"]))
                        tool.set_outputs(answers.get(call["id"]))
        root.set_outputs(trajectory.messages[-1])
    return str(root.trace_id)


def _calls(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    return [call for message in messages for call in message.get("tool_calls", ())]


def _wandb(folder: Path, uri: str) -> Library:
    import wandb

    settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
    run = wandb.init(project="bench", mode="offline", dir=str(folder), settings=settings)

    def trajectories(step: int, found: list[Trajectory]) -> None:
        rows = [list(_columns(trajectory).values()) for trajectory in found]
        run.log({"trajectories": wandb.Table(columns=["group", "index", "reward", "messages"], data=rows)}, step=step)

    return Library(lambda step, values: run.log(values, step=step), trajectories, run.finish)


def _swanlab(folder: Path, uri: str, mode: str) -> Library:
    os.environ.setdefault("SWANLAB_LOG_LEVEL", "error")
    import swanlab

    swanlab.init(project="bench", mode=mode, logdir=str(folder))

    def trajectories(step: int, found: list[Trajectory]) -> None:
        shown = [swanlab.Text(str(columns["messages"]), caption=f"{columns['reward']}") for columns in map(_columns, found)]
        swanlab.log({"trajectories": shown}, step=step)

    return Library(lambda step, values: swanlab.log(values, step=step), trajectories, swanlab.finish)


def _tensorboard(folder: Path, uri: str) -> Library:
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary, SummaryMetadata
    from tensorboard.compat.proto.tensor_pb2 import TensorProto
    from tensorboard.compat.proto.tensor_shape_pb2 import TensorShapeProto
    from tensorboard.summary.writer.event_file_writer import EventFileWriter

    writer = EventFileWriter(str(folder))
    text = SummaryMetadata(plugin_data=SummaryMetadata.PluginData(plugin_name="text"))

    def write(step: int, value: Any) -> None:
        writer.add_event(Event(wall_time=time.time(), step=step, summary=Summary(value=[value])))

    def metrics(step: int, values: dict[str, Any]) -> None:
        for name, value in values.items():
            write(step, Summary.Value(tag=name, simple_value=value))

    def trajectories(step: int, found: list[Trajectory]) -> None:
        for columns in map(_columns, found):
            shape = TensorShapeProto(dim=[TensorShapeProto.Dim(size=1)])
            content = TensorProto(dtype="DT_STRING", string_val=[json.dumps(columns).encode()], tensor_shape=shape)
            write(step, Summary.Value(tag=f"{columns['group']}/{columns['index']}", metadata=text, tensor=content))

    return Library(metrics, trajectories, writer.close)


def _trackio(folder: Path, uri: str) -> Library:
    os.environ["TRACKIO_DIR"] = str(folder)
    import trackio

    trackio.init(project="bench", name="direct", embed=False, auto_log_gpu=False, auto_log_cpu=False)

    def trajectories(step: int, found: list[Trajectory]) -> None:
        for trajectory in found:
            about = {"group": trajectory.group, "index": trajectory.index, "reward": trajectory.reward}
            trackio.log({"trajectory": trackio.Trace(messages=trajectory.messages, metadata=about)}, step=step)

    return Library(lambda step, values: trackio.log(values, step=step), trajectories, trackio.finish)


def _jsonl(folder: Path, uri: str) -> Library:
    file = (folder / "log.jsonl").open("w", encoding="utf-8")

    def write(line: dict[str, object]) -> None:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
        file.flush()

    def trajectories(step: int, found: list[Trajectory]) -> None:
        for trajectory in found:
            write({"step": step, **_columns(trajectory)})

    return Library(lambda step, values: write({"step": step, **values}), trajectories, file.close)


LIBRARIES: dict[str, Callable[[Path, str], Library]] = {
    "mlflow": _mlflow,
    "wandb": _wandb,
    "swanlab-local": lambda folder, uri: _swanlab(folder, uri, "local"),
    "swanlab-offline": lambda folder, uri: _swanlab(folder, uri, "offline"),
    "tensorboard": _tensorboard,
    "trackio": _trackio,
    "jsonl": _jsonl,
}


def _read(material: Path) -> list[Record]:
    return [decode_record(payload) for payload in msgspec.msgpack.decode(material.read_bytes(), type=list[bytes])]


def main(name: str, folder: str, uri: str, material: str) -> None:
    """Run one library over the material."""
    records = _read(Path(material))
    steps: dict[int, list[Trajectory]] = {}
    for record in records:
        if isinstance(record, Trajectory):
            steps.setdefault(record.step or 0, []).append(record)
    library = LIBRARIES[name](Path(folder), uri)
    print("ready", flush=True)
    sys.stdin.readline()
    for record in records:
        if isinstance(record, StepMetrics):
            library.metrics(record.step or 0, dict(record.values))
    for step, found in steps.items():
        library.trajectories(step, found)
    library.finish()
    print("done", flush=True)
    sys.stdin.readline()


if __name__ == "__main__":
    main(*sys.argv[1:])
