"""Without an endpoint the shipper brings the real bridge up, again and again, until everything is in it."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope.records import Event
from rollscope.shipper import ensure_running
from rollscope.shipper.embedded import EmbeddedBridge
from rollscope.shipper.launch import console_path
from rollscope.shipper.shipper import Shipper
from tests.waiting import until

from .processes import environment, kill, no_shipper_left, shipper_pid, shippers, writer
from .producers import NOW, RUN, open_log, write

pytestmark = [pytest.mark.integration, pytest.mark.reliability]
pytest.importorskip("uvicorn", reason="the bridge is not installed: pip install 'rollscope[bridge]'")


def bridge_pid(storage: Path) -> int | None:
    """Process id of the bridge that announced itself."""
    with contextlib.suppress(OSError, ValueError, KeyError):
        return int(json.loads((storage / "bridge.json").read_text())["pid"])
    return None


@contextlib.contextmanager
def no_bridge_left(storage: Path) -> Iterator[None]:
    """End the bridge of `storage` whatever happens, gently, so that its children end too."""
    try:
        yield
    finally:
        pid = bridge_pid(storage)
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)


def ledger(storage: Path, seconds: float) -> dict[str, object]:
    """The run's ledger, once it is complete or the time is over."""
    command = [sys.executable, "-m", "rollscope_exporters.cli", "ledger", RUN, "--storage", str(storage), "--wait", str(seconds), "--json"]
    printed = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False).stdout
    run: dict[str, object] = json.loads(printed)["runs"][0]
    return run


def test_killing_shipper_and_bridge_loses_nothing(tmp_path: Path) -> None:
    """Both are killed at random while a run records: the ledger ends complete, every number received."""
    chance = random.Random(7)
    storage, directory = tmp_path / "storage", tmp_path / "journal"
    env = environment(ROLLSCOPE_STORAGE=str(storage))
    driver = open_log(directory, "d" * 16)
    write(driver, Event(v.EVENT_RUN_STARTED, NOW, {v.RUN_BACKENDS: ["jsonl"], v.RUN_CONFIG: "{}"}))

    def is_up() -> bool:
        ensure_running(directory, env)
        return shipper_pid(directory) is not None and bridge_pid(storage) is not None

    with no_shipper_left(directory), no_bridge_left(storage):
        with writer(directory, "a" * 16, 150, 0.02) as process:
            for _ in range(3):
                until(is_up)
                time.sleep(chance.uniform(0.0, 0.5))
                victims = [*shippers(directory), bridge_pid(storage)]
                victim = chance.choice([pid for pid in victims if pid])
                kill([victim])
            assert process.stdout is not None
            written = int(process.stdout.read().split()[-1])
        write(driver, Event(v.EVENT_RUN_FINISHED, NOW + 1, {v.RUN_STATUS: "finished"}))
        driver.close()
        until(is_up)
        found = ledger(storage, 120.0)
        assert found["verdict"] == "complete", found
        producers = {producer["producer"]: producer for producer in found["producers"]}  # type: ignore[attr-defined]
        assert (producers["a" * 16]["produced"], producers["a" * 16]["received"]) == (written, written)
        assert producers["d" * 16]["received"] == 2
        until(lambda: not shippers(directory), 60)


def test_a_bridge_that_cannot_start_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A storage that cannot be made is an error in the log and the shipper's status, tried again later, not an exception."""
    (tmp_path / "file").touch()
    bridge = EmbeddedBridge(tmp_path / "file" / "storage", os.environ, None)
    for _ in range(3):
        assert bridge.endpoints() is None

    write(open_log(tmp_path / "journal"), Event(v.EVENT_RUN_STARTED, NOW, {}))
    shipper = Shipper(tmp_path / "journal", bridge)
    assert not shipper.drain(0.5)
    assert shipper.status.error.endswith("storage: Not a directory. Set ROLLSCOPE_STORAGE to a folder it can use")


def test_the_console_is_a_path_or_nothing() -> None:
    """Standard output is handed on where it is a file or a terminal, never a pipe, which must be able to end."""
    program = "from rollscope.shipper.launch import console_path; import sys; sys.stderr.write(str(console_path()))"
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stderr == "None"
    read, write_end = os.openpty()
    name = os.ttyname(write_end)
    on_terminal = subprocess.run([sys.executable, "-c", program], stdout=write_end, stderr=subprocess.PIPE, text=True, check=True)
    os.close(read)
    os.close(write_end)
    assert on_terminal.stderr == name
    assert console_path() is None or Path(str(console_path())).exists()


def test_the_console_may_be_a_file(tmp_path: Path) -> None:
    """A log file that standard output was redirected to is found by its path."""
    program = "from rollscope.shipper.launch import console_path; import sys; sys.stderr.write(str(console_path()))"
    with open(tmp_path / "train.log", "w") as file:
        redirected = subprocess.run([sys.executable, "-c", program], stdout=file, stderr=subprocess.PIPE, text=True, check=True)
    assert redirected.stderr == str(tmp_path / "train.log")


def test_a_bridge_that_is_slow_to_start_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the started process lives no second one is started; once it has ended without the lock, another is."""
    started: list[subprocess.Popen[bytes]] = []

    def slow(*arguments: object, keep: Sequence[int]) -> None:
        started.append(subprocess.Popen(["sleep", "60"], pass_fds=keep))

    monkeypatch.setattr("rollscope.shipper.embedded.start_detached", slow)
    bridge = EmbeddedBridge(tmp_path / "storage", os.environ, None)
    try:
        for _ in range(4):
            assert bridge.endpoints() is None
            time.sleep(0.3)
        assert len(started) == 1
        started[0].kill()
        started[0].wait()
        until(lambda: bridge.endpoints() is None and len(started) == 2)
    finally:
        for process in started:
            process.kill()
            process.wait()
