"""Deleting delivered rows: never one that is still needed, and the ledger keeps its numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope_exporters import records
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.pipeline.trim import UNSTARTED, trim
from rollscope_exporters.positions import read_workers

from ..bridge import SECOND, Bridge
from ..wire import process, requests

ROWS = 100


@pytest.fixture
def bridge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bridge:
    """A store with two runs in it, in small blocks."""
    for module in ("ledger.totals", "pipeline.outbox"):
        monkeypatch.setattr(f"rollscope_exporters.{module}.BLOCK", 8)
    bridge = Bridge(tmp_path, PipelineSettings(keep=60 * SECOND))
    for run in ("run-1", "run-2"):
        with process(f"{run}-producer", run=run) as worker:
            worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
            for step in range(ROWS - 1):
                worker.memory.recorder.event(v.EVENT_STEP_METRICS, {v.METRICS: {"a": 1}, v.STEP_INDEX: step}, priority=0)
            bridge.take(requests(worker.items()))
    return bridge


def run_trim(bridge: Bridge, seconds: float = 61, wanted: tuple[str, ...] = ("jsonl",)) -> int:
    """Trim until nothing is left to delete; the id of the first row that stayed."""
    bridge.now += int(seconds * SECOND)
    while trim(bridge.store, read_workers(bridge.storage), lambda _: wanted, bridge.now, bridge.settings.keep):
        pass
    return min((row.id for row in bridge.rows()), default=2 * ROWS + 1)


def test_delivered_rows_go(bridge: Bridge) -> None:
    """Whole blocks of rows that every worker has passed are deleted, ids are not used again."""
    bridge.deliver(upto=50)
    assert run_trim(bridge) == 48
    bridge.deliver()
    assert run_trim(bridge) == 200
    assert bridge.store.head() == 2 * ROWS


def test_young_rows_stay(bridge: Bridge) -> None:
    """A backend that a run has just asked for finds the beginning."""
    bridge.deliver()
    assert run_trim(bridge, seconds=59) == 1
    assert run_trim(bridge, seconds=2) == 200


def test_nothing_goes_without_a_worker(bridge: Bridge) -> None:
    """A wanted backend that has never started holds its rows, for a day."""
    assert run_trim(bridge) == 1
    bridge.deliver("jsonl")
    assert run_trim(bridge, wanted=("jsonl", "wandb")) == 1
    assert run_trim(bridge, UNSTARTED / SECOND, wanted=("jsonl", "wandb")) == 200


def test_a_backend_that_nobody_wants_holds_nothing(bridge: Bridge) -> None:
    """The position of a backend that was taken out of the configuration does not matter."""
    bridge.deliver("old", upto=3)
    bridge.deliver("jsonl")
    assert run_trim(bridge) == 200


def test_a_worker_of_one_run_holds_that_run_only(bridge: Bridge) -> None:
    """Backends with a process a run: each holds the rows of its own run."""
    bridge.deliver("swanlab/run-1", upto=30)
    bridge.deliver("swanlab/run-2", upto=150)
    assert run_trim(bridge, wanted=("swanlab",)) == 24
    bridge.deliver("swanlab/run-1", upto=100)
    assert run_trim(bridge, wanted=("swanlab",)) == 144


def test_a_backend_that_joins_later_is_not_blamed(bridge: Bridge) -> None:
    """What was gone before a backend first started is not its to deliver, and it can still be complete."""
    bridge.deliver(upto=104)
    run_trim(bridge)
    bridge.backends.append("mlflow")
    bridge.deliver("mlflow", upto=104)
    run_trim(bridge, wanted=("jsonl", "mlflow"))
    bridge.deliver()
    bridge.deliver("mlflow")
    assert run_trim(bridge, wanted=("jsonl", "mlflow")) == 200
    bridge.restart()
    bridge.wait(1)
    jsonl, mlflow = bridge.ledger("run-2").runs[0].backends
    assert (jsonl.backend, jsonl.delivered, jsonl.before) == ("jsonl", ROWS, 0)
    assert (mlflow.backend, mlflow.delivered, mlflow.before) == ("mlflow", ROWS - 3, 3)


def test_a_broken_position_file_stops_deleting(bridge: Bridge) -> None:
    """A position that cannot be read might be any: nothing is deleted."""
    bridge.deliver()
    (bridge.storage / "backends/jsonl/position.json").write_text("{")
    with pytest.raises(ValueError, match=r"position\.json: not a position file"):
        read_workers(bridge.storage)
    bridge.loop().turn()
    assert len(bridge.store.rows(0, signals=records.SIGNALS, limit=1000)) == 2 * ROWS
