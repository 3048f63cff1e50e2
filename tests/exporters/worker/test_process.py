"""The worker as a process: started, told to end, killed, configured wrongly."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from rollscope_exporters.records import SIGNALS, RunStarted
from rollscope_exporters.worker import Position, worker_folder
from tests.waiting import until

from .outbox import FilledStore, line

COUNTING = Path(__file__).parents[1] / "counting"
Start = Callable[..., "subprocess.Popen[bytes]"]
STUCK = "the worker's process got stuck at it again and again, also after a record behind it had got through"


def counted(storage: Path) -> list[str]:
    """Return the lines the counting backend holds."""
    file = storage / "counted.txt"
    return file.read_text().splitlines() if file.exists() else []


def position(storage: Path, backend: str = "counting", run: str | None = None) -> Position:
    """Return what the worker's position file says."""
    path = worker_folder(storage, backend, run) / "position.json"
    return msgspec.json.decode(path.read_bytes(), type=Position) if path.exists() else Position()


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start workers; what still runs at the end is killed."""
    running: list[subprocess.Popen[bytes]] = []

    def run(*arguments: str, backend: str = "counting", **env: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "rollscope_exporters.worker",
                "--supervised",
                "--storage",
                str(tmp_path),
                "--backend",
                backend,
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(COUNTING), **env},
        )
        running.append(process)
        return process

    yield run
    for process in running:
        with process:
            process.kill()


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[FilledStore]:
    """A store in the storage folder, with a run that wants the counting backend."""
    store = FilledStore(tmp_path)
    store.announce("r1", ["counting", "counting_per_run"])
    yield store
    store.close()


def test_it_delivers_and_ends_with_its_supervisor(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """What is there, what comes later; and when standard input closes it ends well."""
    filled.add([RunStarted(run="r1", name="r1", project="p", time=1), line("a")])
    worker = start()
    until(lambda: len(counted(tmp_path)) == 2)
    filled.add([line("b")])
    until(lambda: position(tmp_path).position == 3)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(30) == 0
    assert '"state":"ended"' in (worker_folder(tmp_path, "counting") / "beat.json").read_text()
    assert counted(tmp_path) == ["r1 runs", "r1 a", "r1 b"]
    assert position(tmp_path).signals == sorted(SIGNALS)


def test_runs_that_want_something_else_are_passed_over(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """A run that wants none, and one that wants another backend."""
    filled.announce("quiet", [])
    filled.announce("other", ["jsonl"])
    filled.add([line("x", "quiet"), line("y", "other"), line("a")])
    start()
    until(lambda: position(tmp_path).position == 3)
    assert counted(tmp_path) == ["r1 a"]


def test_it_waits_for_the_store(start: Start, tmp_path: Path) -> None:
    """The pipeline may come up later."""
    start()
    until((worker_folder(tmp_path, "counting") / "beat.json").exists)
    filled = FilledStore(tmp_path)
    filled.announce("r1", ["counting"])
    filled.add([line("a")])
    until(lambda: counted(tmp_path) == ["r1 a"])
    filled.close()


def test_routes_and_samples_apply(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """The configuration reaches the worker; what it leaves out is counted in the position."""
    from rollscope_exporters.records import StepMetrics

    filled.add([StepMetrics(run="r1", time=1, step=step, values={"a": 1.0}) for step in range(12)])
    filled.add([line("a")])
    start(ROLLSCOPE__METRICS__EVERY_N_STEPS="5", ROLLSCOPE__ROUTES__LOGS="[]")
    until(lambda: position(tmp_path).position == 13)
    assert counted(tmp_path) == ["r1 metrics"] * 2
    assert position(tmp_path).left_out == {"metrics.every_n_steps": {"r1": 12}}
    assert "logs" not in position(tmp_path).signals


def test_what_one_backend_is_told_holds_for_it_alone(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """Its own section is over the top and the routes."""
    from rollscope_exporters.records import Artifact, StepMetrics

    filled.add([StepMetrics(run="r1", time=1, step=step, values={"a": 1.0}) for step in range(4)])
    filled.add([Artifact(run="r1", name="file", time=1), line("a")])
    own = {"metrics": {"every_n_steps": 1}, "artifacts": False, "logs": True}
    start(
        ROLLSCOPE__METRICS__EVERY_N_STEPS="5",
        ROLLSCOPE__ROUTES__LOGS="[]",
        ROLLSCOPE__BACKENDS=msgspec.json.encode({"counting": own}).decode(),
    )
    until(lambda: position(tmp_path).position == 6)
    assert counted(tmp_path) == ["r1 metrics"] * 4 + ["r1 a"]


def test_a_worker_of_one_run_serves_that_run(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """With a position of its own."""
    filled.announce("r2", ["counting_per_run"])
    filled.add([line("a"), line("b", "r2")])
    start("--run", "r2", backend="counting_per_run")
    until(lambda: position(tmp_path, "counting_per_run", "r2").position == 2)
    (file,) = tmp_path.glob("counted-*.txt")
    assert file.read_text() == "r2 b\n"


def test_one_position_has_one_worker(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """A second one waits until the first has ended, then goes on where it was."""
    filled.add([line("a")])
    first = start()
    until(lambda: position(tmp_path).position == 1)
    second = start()
    beat = worker_folder(tmp_path, "counting") / "beat.json"
    until(lambda: f'"pid":{second.pid}' in beat.read_text())
    first.kill()
    filled.add([line("b")])
    until(lambda: counted(tmp_path) == ["r1 a", "r1 b"])


def test_a_wrong_configuration_ends_it_with_a_word(start: Start, filled: FilledStore) -> None:
    """And the exit code that says so."""
    worker = start("--set", "rejct=x")
    _, error = worker.communicate(timeout=120)
    assert worker.returncode == 78
    assert b"backends.counting.rejct: unknown key. Did you mean 'reject'?" in error


@pytest.mark.reliability
def test_killed_at_random_it_delivers_each_record_once(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """Eight kills while records come; the backend holds each of them once and in order."""
    rng, sent = random.Random(7), 0
    worker = start("--set", "slow=0.01", ROLLSCOPE__WORKERS__BATCH_ROWS="7")
    for _ in range(8):
        before = position(tmp_path).position
        filled.add([line(str(sent + n)) for n in range(200)])
        sent += 200
        until(lambda before=before: position(tmp_path).position > before)  # type: ignore[misc]
        time.sleep(rng.random() * 0.2)
        worker.kill()
        worker.wait()
        worker = start("--set", "slow=0.01", ROLLSCOPE__WORKERS__BATCH_ROWS="7")
    until(lambda: position(tmp_path).position == sent)
    assert counted(tmp_path) == [f"r1 {n}" for n in range(sent)]
    assert position(tmp_path).set_aside == []


def test_a_record_that_ends_the_process_is_set_aside(start: Start, filled: FilledStore, tmp_path: Path) -> None:
    """After three crashes of its own; its neighbours arrive once."""
    filled.add([line("a"), line("crash"), line("b")])
    for life in range(10):
        worker = start(*(["--after", "crash"] if life else []))
        try:
            until(lambda worker=worker: worker.poll() is not None or position(tmp_path).position == 3)  # type: ignore[misc]
        finally:
            code = worker.poll()
        if code is None:
            break
        assert code < 0
    assert counted(tmp_path) == ["r1 a", "r1 b"]
    (aside,) = position(tmp_path).set_aside
    assert aside.reason == "ended the worker's process 3 times"


def supervise(start: Start, storage: Path, upto: int, *arguments: str, at_hang: Callable[[int], bool] = lambda life: False) -> None:
    """Do as the supervisor does until `upto` is delivered: kill what hangs, and tell the next process how the one before it ended.

    at_hang: called with the number of the process that hangs; True where that is left to get on.
    """
    after: list[str] = []
    for life in range(20):
        worker = start(*after, *arguments)
        mark = storage / f"hangs-{worker.pid}"
        until(lambda worker=worker, mark=mark: worker.poll() is not None or mark.exists() or position(storage).position == upto)  # type: ignore[misc]
        if mark.exists() and at_hang(life):
            until(lambda: position(storage).position == upto)
        if position(storage).position == upto:
            return
        after = ["--after", "crash" if worker.poll() else "hang"]
        worker.kill()
        worker.wait()
    raise AssertionError(position(storage))


@pytest.mark.parametrize(
    ("bad", "reasons"),
    [
        (["hang"], [STUCK]),
        (["hang", "crash"], [STUCK, "ended the worker's process 3 times"]),
    ],
)
def test_a_record_that_hangs_is_set_aside(start: Start, filled: FilledStore, tmp_path: Path, bad: list[str], reasons: list[str]) -> None:
    """Once a record behind it got through, however many rows of others lie between. Its neighbours arrive once."""
    filled.add([line("a"), *map(line, bad), *(line("x", "other") for _ in range(1200)), line("b"), line("c")])
    supervise(start, tmp_path, len(bad) + 1203)
    assert counted(tmp_path) == ["r1 a", "r1 b", "r1 c"]
    assert [aside.reason for aside in position(tmp_path).set_aside] == reasons


@pytest.mark.parametrize("life", [0, 3, 4, 5])
def test_while_nothing_comes_back_nothing_is_set_aside(start: Start, filled: FilledStore, tmp_path: Path, life: int) -> None:
    """Whenever the server answers again, which may be just when the record behind is tried (by the fourth process after the first)."""
    filled.add([line("a"), line("b"), line("c")])
    stuck = tmp_path / "stuck"
    stuck.touch()

    def answer(now: int) -> bool:
        if now == life:
            stuck.unlink()
        return now == life

    supervise(start, tmp_path, 3, "--set", f"stuck={stuck}", at_hang=answer)
    assert sorted(counted(tmp_path)) == ["r1 a", "r1 b", "r1 c"]
    assert position(tmp_path).set_aside == []
