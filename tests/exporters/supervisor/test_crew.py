"""What the supervisor makes of the files it finds."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from rollscope_exporters.records import StepMetrics
from rollscope_exporters.settings import Settings
from rollscope_exporters.store import Store
from rollscope_exporters.supervisor import _crew
from rollscope_exporters.supervisor._crew import PIPELINE, Crew
from rollscope_exporters.worker import worker_folder
from tests.exporters.worker.outbox import FilledStore
from tests.waiting import until


def metric(run: str, step: int) -> StepMetrics:
    return StepMetrics(run=run, time=1, step=step, values={"a": 1.0})


def test_an_unreadable_position_is_told_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is looked at several times a second; the log says it once, with the cure."""
    position = tmp_path / "backends" / "jsonl" / "position.json"
    position.parent.mkdir(parents=True)
    position.write_text('{"position":')
    crew = Crew(Settings(storage=tmp_path), None, {})
    assert [crew.workers() for _ in range(3)] == [[], [], []]
    (told,) = caplog.messages
    assert "position.json" in told
    assert "remove it" in told


def test_a_run_that_is_over_has_a_worker_only_while_there_are_rows(tmp_path: Path) -> None:
    """Also for rows that come late, and again when its position was removed."""
    store = FilledStore(tmp_path)
    store.announce("r", ["wandb"], "finished")
    crew = Crew(Settings(storage=tmp_path), None, {})
    wanted = lambda: crew._make_plan().workers  # noqa: E731
    try:
        assert wanted() == []
        store.add([metric("r", 1)])
        assert wanted() == [("wandb", "r")]
        position = worker_folder(tmp_path, "wandb", "r") / "position.json"
        position.parent.mkdir(parents=True)
        position.write_text('{"position": 1}')
        assert wanted() == wanted() == []
        store.add([metric("other", 1)])
        assert wanted() == []
        store.add([metric("r", 2)])
        assert wanted() == [("wandb", "r")]
        position.write_text('{"position": 3}')
        assert wanted() == []
        position.unlink()
        assert wanted() == [("wandb", "r")]
    finally:
        crew.end()
        store.close()


def test_looking_reads_no_package_s_metadata(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several times a second, for every run that ever was: an idle bridge took a quarter of a core for it."""
    store = FilledStore(tmp_path)
    for number in range(20):
        store.announce(f"r{number}", ["wandb", "jsonl", "mlflow"], "finished")
    store.add([metric("r1", 1)])
    crew = Crew(Settings(storage=tmp_path), None, {})
    crew._make_plan()
    looked: list[str] = []
    monkeypatch.setattr("importlib.metadata.distributions", lambda **_: looked.append("distributions") or [])
    monkeypatch.setattr(Store, "rows", lambda *_, **__: looked.append("rows") or [])
    crew._make_plan()
    crew.end()
    store.close()
    assert looked == ["rows"]  # of the one run that has a row to deliver


def test_a_pipeline_that_hangs_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stopped process shows no progress; as it was at no request, none is blamed."""
    monkeypatch.setattr(_crew, "_PIPELINE_DEADLINE", 3.0)
    crew = Crew(Settings(storage=tmp_path), None, {})
    pipeline = crew.children[PIPELINE]

    def runs(restarts: int) -> bool:
        crew.tick()
        (status,) = crew.status()
        return status["state"] == "idle" and pipeline.restarts >= restarts

    try:
        until(lambda: runs(0))
        assert pipeline.pid
        os.kill(pipeline.pid, signal.SIGSTOP)
        until(lambda: runs(1))
        assert pipeline.pid
        assert b"--after" not in Path(f"/proc/{pipeline.pid}/cmdline").read_bytes()
    finally:
        crew.end()
