"""The trackers, called directly."""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from collections.abc import Iterator
from pathlib import Path

from .harness import Absent, Contender, Operation
from .recording import scratch

Scalars = dict[str, float]


def contenders(scalars: Scalars, *, quick: bool) -> list[Contender]:
    """One contender per tracker; the slow ones get few operations."""
    few, some = (1, 2) if quick else (1, 4)
    return [
        Contender("MLflow log_metrics, SQLite", lambda: _mlflow(scalars), few),
        Contender("W&B log, offline", lambda: _wandb(scalars), some),
        Contender("SwanLab log, offline", lambda: _swanlab(scalars, "offline"), some),
        Contender("TensorBoard events", lambda: _tensorboard(scalars), some),
    ]


@contextlib.contextmanager
def _mlflow(scalars: Scalars) -> Iterator[Operation]:
    try:
        import mlflow
    except ImportError:
        raise Absent("pip install mlflow") from None
    steps = itertools.count()
    with scratch() as folder:
        mlflow.set_tracking_uri(f"sqlite:///{folder}/mlflow.db")
        mlflow.create_experiment("bench", artifact_location=str(folder / "artifacts"))
        mlflow.set_experiment("bench")
        with mlflow.start_run():
            yield lambda: mlflow.log_metrics(scalars, step=next(steps))


@contextlib.contextmanager
def _wandb(scalars: Scalars) -> Iterator[Operation]:
    try:
        import wandb
    except ImportError:
        raise Absent("pip install wandb") from None
    with scratch() as folder:
        settings = wandb.Settings(silent=True, console="off", x_disable_stats=True)
        run = wandb.init(project="bench", mode="offline", dir=str(folder), settings=settings)
        yield lambda: run.log(scalars)
        run.finish()


@contextlib.contextmanager
def _swanlab(scalars: Scalars, mode: str) -> Iterator[Operation]:
    os.environ.setdefault("SWANLAB_LOG_LEVEL", "error")
    try:
        import swanlab
    except ImportError:
        raise Absent("pip install 'rollscope[swanlab]'") from None
    steps = itertools.count()
    with scratch() as folder:
        swanlab.init(project="bench", mode=mode, logdir=str(folder))
        yield lambda: swanlab.log(scalars, step=next(steps))
        swanlab.finish()


@contextlib.contextmanager
def _tensorboard(scalars: Scalars) -> Iterator[Operation]:
    try:
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError:
        raise Absent("pip install tensorboard") from None
    steps = itertools.count()

    def operation() -> None:
        step = next(steps)
        for name, value in scalars.items():
            summary = Summary(value=[Summary.Value(tag=name, simple_value=value)])
            writer.add_event(Event(wall_time=time.time(), step=step, summary=summary))

    with scratch() as folder:
        writer = EventFileWriter(str(Path(folder)))
        yield operation
        writer.close()
