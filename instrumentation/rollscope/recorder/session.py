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
_joining = False
_LONGEST = 5.0
"""Seconds that a thread waits for another one that joins: it may in turn wait for an import of the first."""
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
    """Join; other threads wait for the one that does, or their first records would be lost."""
    global _recorder, _looked, _joining
    lock = _lock
    if not lock.acquire(timeout=_LONGEST):
        gate.report("dropped", "join", f"something was recorded while another thread was joining the run for more than {_LONGEST} s")
        return None
    try:
        # Whatever joining runs into may ask for the recorder again.
        if _looked or _joining:
            return _recorder
        _joining = True
        try:
            found = None if _join is None else _join()
            if not _looked:
                _recorder = found
        except Exception as error:  # noqa: BLE001  # a worker's first record must not fail for a bad environment
            gate.swallow(error, "join")
        finally:
            _looked, _joining = True, False
        return _recorder
    finally:
        lock.release()


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
    global _lock, _joining
    # Whoever held the lock, and joined, is not in the child.
    _lock, _joining = threading.RLock(), False
    if _recorder is not None:
        _recorder.after_fork()


os.register_at_fork(after_in_child=_after_fork)
