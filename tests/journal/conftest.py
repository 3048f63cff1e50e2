"""Shared by the journal's tests."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from rollscope.journal import Entry, LogReader

ReadAll = Callable[..., list[Entry]]
Run = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def read_all() -> ReadAll:
    """Read everything of some lanes; optionally acknowledge what was read."""

    def read(reader: LogReader, *lanes: int, max_bytes: int = 1 << 20, acknowledge: bool = False) -> list[Entry]:
        entries: list[Entry] = []
        for lane in lanes or (0, 1, 2):
            while batch := reader.read(lane, max_bytes):
                entries += batch
                if acknowledge:
                    reader.acknowledge(lane, batch[-1].end, len(batch))
        return entries

    return read


@pytest.fixture
def run_python() -> Run:
    """Start a program that has `Journal`, `Path` and its folder as `folder`."""

    def run(folder: Path, program: str) -> subprocess.Popen[str]:
        head = "import os, signal, sys, threading, time\nfrom pathlib import Path\nfrom rollscope.journal import Journal\n"
        source = f"{head}folder = Path({str(folder)!r})\n{textwrap.dedent(program)}"
        return subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True)

    return run
