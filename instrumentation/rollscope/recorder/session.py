"""The one recorder of this process: set by `init`, joined from the environment at the first call, replaced after fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from . import gate
from .recorder import Recorder

__all__ = ["current", "forget", "on_join", "restore", "snapshot", "use"]

_recorder: Recorder | None = None
_looked = False
_lock = threading.RLock()
_join: Callable[[], Recorder | None] | None = None


def current() -> Recorder | None:
    """Return the recorder of this process, None when there is no run or everything is switched off.

    The first call joins the run that the environment carries; each further one is a look-up.
    """
    if _recorder is not None or _looked:
        return _recorder
    return _look()


def _look() -> Recorder | None:
    global _recorder, _looked
    with _lock:
        if _looked:
            return _recorder
        # Set first: whatever joining runs into may ask for the recorder again.
        _looked = True
        if _join is not None:
            try:
                _recorder = _join()
            except Exception as error:  # noqa: BLE001  # a worker's first record must not fail for a bad environment
                gate.swallow(error, "join")
        return _recorder


def use(recorder: Recorder | None) -> None:
    """Make `recorder` the one of this process; None means no run, whatever the environment says."""
    global _recorder, _looked
    with _lock:
        _recorder, _looked = recorder, True


def forget() -> None:
    """Look into the environment again at the next call."""
    global _recorder, _looked
    with _lock:
        _recorder, _looked = None, False


def snapshot() -> tuple[Recorder | None, bool]:
    """Return the state of this module, for `restore`."""
    return _recorder, _looked


def restore(state: tuple[Recorder | None, bool]) -> None:
    """Put back what `snapshot` returned; tests put a recorder of their own in between."""
    global _recorder, _looked
    with _lock:
        _recorder, _looked = state
        gate.use_counter(_recorder.journal.count if _recorder is not None and _recorder.journal is not None else None)


def on_join(join: Callable[[], Recorder | None]) -> None:
    """Give the function that makes a recorder from the environment."""
    global _join
    _join = join


def _after_fork() -> None:
    global _lock
    _lock = threading.RLock()
    if _recorder is not None:
        _recorder.after_fork()


os.register_at_fork(after_in_child=_after_fork)
