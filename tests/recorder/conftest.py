"""Shared by the recorder's tests: a process state of their own, programs that run beside them, and what those recorded."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rollscope.journal import LogReader, list_logs
from rollscope.recorder import ending, gate, leaving, session
from rollscope.recorder.environment import withdraw
from rollscope.records import Record, decode, decode_start
from rollscope.testing import Memory, memory_recorder

Program = Callable[..., "subprocess.CompletedProcess[str]"]
ReadBack = Callable[..., list[Record]]


@pytest.fixture(autouse=True)
def own_process_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No run in the environment, a folder of our own as working directory, no shipper; everything put back afterwards."""
    for name in list(os.environ):
        if name.startswith(("ROLLSCOPE_", "OTEL_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("ROLLSCOPE_SHIPPER", "off")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(ending, "_failure", None)
    leaving.unwatch()  # a run that a test before left behind
    monkeypatch.setattr(sys, "exit", leaving._original)
    before = session.snapshot()
    session.forget()
    gate.forget()
    yield
    recorder, _ = session.snapshot()
    if recorder is not None and recorder is not before[0]:
        recorder.close()
    withdraw()
    session.restore(before)


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A strict recorder in memory."""
    with memory_recorder() as memory:
        yield memory


@pytest.fixture
def lenient() -> Iterator[Memory]:
    """A recorder in memory that counts its errors, as in production."""
    with memory_recorder(strict=False) as memory:
        yield memory


@pytest.fixture
def run_program(tmp_path: Path) -> Program:
    """Run a Python program to its end in the test's folder; `R` is `rollscope.recorder` in it."""

    def run(program: str, *, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        path = tmp_path / "program.py"
        # A shell's background job ignores Ctrl-C, and what it starts inherits that.
        begin = "import os, signal, sys, threading, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        path.write_text(f"{begin}import rollscope.recorder as R\n{textwrap.dedent(program)}")
        done = subprocess.run(
            [sys.executable, str(path)], cwd=tmp_path, env={**os.environ, **env}, capture_output=True, text=True, timeout=300
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return run


@pytest.fixture
def read_back(tmp_path: Path) -> ReadBack:
    """Read all records of all producers of a node folder, lane by lane, and what is open behind them."""

    def read(directory: Path | None = None, **resource: object) -> list[Record]:
        records: list[Record] = []
        for folder in list_logs((directory or tmp_path / "rollscope/journal") / "producers"):
            reader = LogReader(folder)
            about = reader.meta().get("resource")
            if isinstance(about, dict) and all(about.get(name) == value for name, value in resource.items()):
                for lane in range(3):
                    while entries := reader.read(lane, 1 << 24):
                        records += [decode(entry.payload) for entry in entries]
                records += [decode_start(head) for head in reader.held()]
            assert not reader.damaged
            reader.close()
        return records

    return read
