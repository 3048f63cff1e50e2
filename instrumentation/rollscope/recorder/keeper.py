"""The thread that sees to it that the journal is there and the node's shipper lives, in every process that records."""

from __future__ import annotations

import functools
import logging
import os
import threading
from collections.abc import Callable, Mapping

from ..importing import importing
from . import gate
from .delivering import complain
from .environment import variables_of
from .recorder import Recorder

__all__ = ["Keeper", "keep"]

_PAUSE = 2.0
_EnsureRunning = Callable[[], None]


class Keeper:
    """A daemon thread that calls `ensure` at once and then every two seconds until `stop`."""

    def __init__(self, ensure: _EnsureRunning, pause: float = _PAUSE) -> None:
        self._ensure = ensure
        self._pause = pause
        self._stopped = threading.Event()
        self._looked = threading.Event()
        self._thread = threading.Thread(target=self._run, name="rollscope-keeper", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self, wait: float = 0.0) -> None:
        """End the thread; wait up to `wait` seconds for its first look, so that a short program still gets a shipper."""
        self._looked.wait(wait)
        self._stopped.set()

    def _run(self) -> None:
        while True:
            with gate.guard("keeper"):
                self._ensure()
            self._looked.set()
            if self._stopped.wait(self._pause):
                return


def keep(recorder: Recorder) -> None:
    """Start a keeper whenever `recorder` opens a journal, in this process and in forked children."""

    def start() -> None:
        if recorder.keeper is not None:  # the journal was opened again
            return
        keeper = Keeper(functools.partial(_ensure, recorder, {**os.environ, **variables_of(recorder)}))
        recorder.keeper = keeper
        try:
            keeper.start()
        except RuntimeError:
            # No thread can start while the interpreter ends; what was recorded is delivered by the next shipper of the node.
            logging.getLogger("rollscope").debug("rollscope: no keeper, the interpreter is shutting down")

    recorder.on_open.append(start)


def _ensure(recorder: Recorder, env: Mapping[str, str]) -> None:
    with gate.guard("journal", "dropped"):
        recorder.look_after_journal()
    if recorder.settings.shipper:
        with importing:
            from ..shipper import ensure_running

        ensure_running(recorder.settings.directory, env)
    if recorder.driver:  # one line a run
        complain(recorder.settings.directory)
