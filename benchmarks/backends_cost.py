"""What a program costs: the processor time of it and of everything it starts, and the bytes it leaves."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple

import psutil


class Cost(NamedTuple):
    """Between two moments."""

    cpu: float
    """Seconds, user and system."""
    bytes: int


class Meter:
    """Measures a running program and its descendants from now on."""

    def __init__(self, pid: int, folder: Path) -> None:
        """`folder` is where the program leaves what it writes."""
        self._pid, self._folder = pid, folder
        self._cpu, self._bytes = tree_cpu(pid), size(folder)

    def read(self) -> Cost:
        """Return the cost so far; the program still runs."""
        return Cost(tree_cpu(self._pid) - self._cpu, size(self._folder) - self._bytes)


def tree_cpu(pid: int) -> float:
    """Seconds that a process and its descendants have used, those that have ended included."""
    root = psutil.Process(pid)
    found = 0.0
    for process in (root, *root.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            found += sum(process.cpu_times()[:4])
    return found


def size(folder: Path) -> int:
    """Bytes of all files below `folder`."""
    found = 0
    for path in folder.rglob("*"):
        with contextlib.suppress(OSError):
            found += path.stat().st_size if path.is_file() else 0
    return found
