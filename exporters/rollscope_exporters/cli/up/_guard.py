"""Ends what `up` started where `up` itself cannot any more: it was killed.

A small process in a session of its own, whose standard input `up` holds: it reads there which processes lead groups of their own, and
when its input closes, however that comes about, it ends those that are left. Run as a file, by nothing but the standard library.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable

GRACE = 15.0
"""Seconds a group may take to end before it is killed."""
_MOMENT = 5.0


class Guard:
    """Knows of every service that runs."""

    def __init__(self) -> None:
        """Start it. Raises `OSError`."""
        self._watched: set[int] = set()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, start_new_session=True
        )

    def watch(self, pid: int) -> None:
        """End the group of `pid` when we are gone."""
        self._watched.add(pid)
        self._say("+", pid)

    def forget(self, pid: int) -> None:
        """Leave `pid` alone: it has ended. May be called again and again."""
        if pid in self._watched:
            self._watched.remove(pid)
            self._say("-", pid)

    def end(self) -> None:
        """End what is left, and the guard. Blocks for some 15 s at most, and not at all where everything was forgotten."""
        if self._process.stdin:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(GRACE + _MOMENT)
        except subprocess.TimeoutExpired:  # somebody stopped it
            self._process.kill()
            self._process.wait()

    def _say(self, what: str, pid: int) -> None:
        if self._process.stdin:
            with contextlib.suppress(OSError):  # the guard was killed; that matters only if we are, too
                self._process.stdin.write(f"{what}{pid}\n".encode())
                self._process.stdin.flush()


def _left(lines: Iterable[str]) -> set[int]:
    left: set[int] = set()
    for line in lines:
        (left.add if line[0] == "+" else left.discard)(int(line[1:]))
    return left


def _signal(groups: Iterable[int], number: int) -> set[int]:
    """Send a signal, 0 to look only; return the groups that are there."""
    found = set()
    for group in groups:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(group, number)
            found.add(group)
    return found


def _end(groups: set[int]) -> None:
    until = time.monotonic() + GRACE
    groups = _signal(groups, signal.SIGTERM)
    while groups and time.monotonic() < until:
        time.sleep(0.1)
        groups = _signal(groups, 0)
    _signal(groups, signal.SIGKILL)


if __name__ == "__main__":
    _end(_left(sys.stdin))
