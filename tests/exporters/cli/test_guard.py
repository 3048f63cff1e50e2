"""The guard of `rollscope up`: groups of processes end with who started them."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pytest

from rollscope_exporters.cli.up import _guard
from tests.waiting import until

Group = Callable[..., "subprocess.Popen[bytes]"]
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True); time.sleep(600)"
WAITING = "import time; print(flush=True); time.sleep(600)"


@pytest.fixture
def group() -> Iterator[Group]:
    """Start processes that lead groups of their own."""
    started: list[subprocess.Popen[bytes]] = []

    def start(code: str = WAITING) -> subprocess.Popen[bytes]:
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, start_new_session=True)
        assert process.stdout
        process.stdout.readline()
        started.append(process)
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def test_what_is_watched_ends_and_what_is_forgotten_stays(group: Group) -> None:
    """Once whoever watched is gone."""
    watched, forgotten, never = group(), group(), group()
    guard = _guard.Guard()
    for process in (watched, forgotten):
        guard.watch(process.pid)
    for _ in range(2):
        guard.forget(forgotten.pid)
    reaping = threading.Thread(target=watched.wait)  # until somebody asks about it, a process that has ended still leads its group
    reaping.start()
    guard.end()
    reaping.join(30)
    assert watched.poll() == -signal.SIGTERM
    assert (forgotten.poll(), never.poll()) == (None, None)


def test_one_that_does_not_listen_is_killed(group: Group, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while."""
    stubborn = group(STUBBORN)
    monkeypatch.setattr(_guard, "GRACE", 0.5)
    _guard._end({stubborn.pid})
    assert stubborn.wait(30) == -signal.SIGKILL


def test_a_guard_that_was_killed_is_no_hindrance(group: Group) -> None:
    """Nothing is ended then, and nothing raised."""
    process, guard = group(), _guard.Guard()
    guard._process.kill()
    until(lambda: guard._process.poll() is not None)
    guard.watch(process.pid)
    guard.end()
    assert process.poll() is None
