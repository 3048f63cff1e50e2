"""One child process: started, watched, started again with growing pauses, killed when it makes no progress.

The child's standard input is a pipe whose other end only we hold: when we end, however we end, it closes and the child ends.
What the child prints goes to our log.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ..beats import last_state
from ..child import EXIT_RESTART, EXIT_SETTINGS, After

FIRST_PAUSE = 0.2
LONGEST_PAUSE = 30.0
PAUSE_AFTER_KILL = 2.0
"""Longest pause after a kill from outside: that says nothing about the child."""
HEALTHY_AFTER = 30.0
"""Seconds of life after which the pauses start small again."""
STARTING = 5
"""Deadlines a process may take while its last sign of life says that it is starting: a library may build a database then."""
_FATAL = {signal.SIGINT, signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGSYS, signal.SIGTRAP}
"""Signals by which a process ends of its own making. SIGINT: a `KeyboardInterrupt` that was raised in it; sent to it, it ends in order."""
_ORDERLY = {0, EXIT_RESTART, EXIT_SETTINGS}
"""Exit codes that are the child's own word, unless a library has ended the process in the middle of a write."""

log = logging.getLogger("rollscope.bridge")


@dataclass(frozen=True, slots=True)
class ChildSpec:
    """What to run."""

    name: str
    arguments: tuple[str, ...]
    """After the interpreter."""
    beat: Path | None = None
    """File whose change is progress; without one there is no deadline."""


class Child:
    """One process and its restarts."""

    def __init__(self, spec: ChildSpec, env: Mapping[str, str], deadline: float) -> None:
        self.spec = spec
        self._env, self._deadline = dict(env), deadline
        self._process: subprocess.Popen[bytes] | None = None
        self._started = self._due = self._moved = 0.0
        self._pause = FIRST_PAUSE
        self._mtime = 0
        self._killed = self._hung = self._ending = False
        self._after: After | None = None
        """What the next process is told of how this one ended."""
        self.restarts = -1
        self.last_end = ""
        """How the process ended last."""

    @property
    def pid(self) -> int | None:
        """Process id while it runs."""
        return self._process.pid if self._process else None

    def tick(self) -> None:
        """Start what is due, notice what ended, kill what hangs."""
        now = time.monotonic()
        if self._process is None:
            if not self._ending and now >= self._due:
                self._start(now)
            return
        code = self._process.poll()
        if code is not None:
            self._ended(code, now)
        elif self._hangs(now):
            log.error("%s made no progress for %.0f s; killing it", self.spec.name, self._deadline)
            # One that starts or waits is at no record.
            self._hung = last_state(self.spec.beat) == "writing"
            self.kill()

    def end(self) -> None:
        """Ask the child to end by closing its pipe; it is not started again."""
        self._ending = True
        if self._process and self._process.stdin and not self._process.stdin.closed:
            self._process.stdin.close()

    def kill(self) -> None:
        """End the child and whatever it started, at once."""
        self._killed = True
        if self._process:
            _kill_group(self._process.pid)
            self._process.kill()

    def _start(self, now: float) -> None:
        try:
            self._process = self._popen()
        except OSError as error:  # no memory, no process slot: later perhaps
            log.error("%s cannot be started: %s", self.spec.name, error)
            self.last_end = str(error)
            self._due = now + LONGEST_PAUSE
            return
        self._started = self._moved = now
        self._killed = self._hung = False
        self.restarts += 1
        log.info("%s started, pid %d", self.spec.name, self._process.pid)
        if self._process.stdout:
            threading.Thread(target=_copy_output, args=(self.spec.name, self._process.stdout), daemon=True).start()

    def _popen(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, *self.spec.arguments, *(("--after", self._after) if self._after else ())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self._env,
            start_new_session=True,  # Ctrl-C is for us; and a whole group can be killed
        )

    def _ended(self, code: int, now: float) -> None:
        process, self._process = self._process, None
        if process and process.stdin:
            process.stdin.close()
        if process and code:
            _kill_group(process.pid)  # helpers of a library outlive a process that ended badly, and would work against the next
        self.last_end = _how(code)
        if self._ending:
            return
        by_kill = not self._killed and code in (-signal.SIGKILL, -signal.SIGTERM)
        by_itself = -code in _FATAL or (code > 0 and code not in _ORDERLY) or (code == 0 and last_state(self.spec.beat) == "writing")
        crashed = not self._killed and not by_kill and by_itself
        self._after = "hang" if self._hung else "crash" if crashed else None
        if now - self._started >= HEALTHY_AFTER:
            self._pause = FIRST_PAUSE
        pause = LONGEST_PAUSE if code == EXIT_SETTINGS else min(self._pause, PAUSE_AFTER_KILL) if by_kill else self._pause
        self._due = now + pause
        self._pause = min(self._pause * 2, LONGEST_PAUSE)
        log.warning("%s ended: %s; next start in %.1f s", self.spec.name, self.last_end, pause)

    def _hangs(self, now: float) -> bool:
        if self.spec.beat is None or self._killed:
            return False
        try:
            mtime = self.spec.beat.stat().st_mtime_ns
        except OSError:
            mtime = 0
        if mtime != self._mtime:
            self._mtime, self._moved = mtime, now
        late = now - self._moved
        return late > self._deadline and (late > self._deadline * STARTING or last_state(self.spec.beat) not in ("", "starting"))


def _kill_group(leader: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, signal.SIGKILL)


def _copy_output(name: str, output: IO[bytes]) -> None:
    with output:
        for line in output:
            log.info("%s | %s", name, line.decode("utf-8", "replace").rstrip())


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
