"""Work of ours that no training call should wait for: one daemon thread with a short queue, started when it is first needed."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable

from .recorder import Recorder, report

__all__ = ["Background", "background"]

_EXIT_WAIT = 0.1
"""Seconds at the end of a program, which may take 0.5 in all."""
_FINISH_WAIT = 0.5
"""Seconds where the program itself ends the run."""

Job = Callable[[], None]


class Background:
    """Runs jobs one after another in a thread of its own. A full queue refuses, it never makes anyone wait."""

    def __init__(self, limit: int = 1024) -> None:
        self._limit = limit
        self._reset()

    def _reset(self) -> None:
        self._jobs: deque[tuple[Job, str]] = deque()
        self._change = threading.Condition()
        self._thread: threading.Thread | None = None
        self._busy = False

    def submit(self, recorder: Recorder, job: Job, reason: str) -> bool:
        """Run `job` soon, and before `recorder` closes; False when the queue is full, which is counted under `reason`."""
        if self.settle not in recorder.on_close:
            recorder.on_close.append(self.settle)
        with self._change:
            if len(self._jobs) >= self._limit:
                report("dropped", f"{reason}_overflow", f"{self._limit} jobs wait already; this one was left out")
                return False
            self._jobs.append((job, reason))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="rollscope-background", daemon=True)
                self._thread.start()
            self._change.notify_all()
        return True

    def drain(self, timeout: float) -> int:
        """Wait until nothing is left to do, at most `timeout` seconds; return how many jobs are left."""
        end = time.monotonic() + timeout
        with self._change:
            while self._jobs or self._busy:
                rest = end - time.monotonic()
                if rest <= 0 or not self._change.wait(rest):
                    break
            return len(self._jobs) + self._busy

    def settle(self) -> None:
        """Finish what there is before the journal closes, as far as the end of a program may wait for it."""
        # The interpreter marks the main thread as ended before it calls what is registered with atexit.
        left = self.drain(_FINISH_WAIT if threading.main_thread().is_alive() else _EXIT_WAIT)
        if left:
            report("dropped", "background", f"{left} pieces of work were not finished when the run ended")

    def _run(self) -> None:
        while True:
            with self._change:
                while not self._jobs:
                    self._change.wait()
                job, reason = self._jobs.popleft()
                self._busy = True
            try:
                job()
            except Exception as error:  # noqa: BLE001  # the gate of this thread
                report("dropped", reason, f"{type(error).__name__}: {error}", error)
            finally:
                with self._change:
                    self._busy = False
                    self._change.notify_all()


background = Background()
"""The one of this process."""

os.register_at_fork(after_in_child=background._reset)
