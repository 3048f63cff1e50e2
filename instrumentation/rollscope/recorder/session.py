"""The one recorder of this process: set by `init`, joined from the environment at the first call, replaced after fork."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from . import gate
from .recorder import Recorder

__all__ = ["active", "current", "forget", "looked", "on_join", "restore", "snapshot", "use"]

active: Recorder | None = None
"""What `current` returns once `looked` is true: for whom a call would cost too much. This module alone sets it."""
looked = False
"""Whether a recorder was given, or looked for in the environment; until then only `current` may be asked."""
_joining = False
_LONGEST = 5.0
"""Seconds that a thread waits for another one that joins: it may in turn wait for an import of the first."""
_lock = threading.RLock()
_join: Callable[[], Recorder | None] | None = None


def current() -> Recorder | None:
    """Return the recorder of this process, None when there is no run or everything is switched off.

    The first call joins the run that the environment carries; each further one is a look-up.
    """
    if active is not None or looked:
        return active
    return _look()


def _look() -> Recorder | None:
    """Join; other threads wait for the one that does, or their first records would be lost."""
    global active, looked, _joining
    lock = _lock
    if not lock.acquire(timeout=_LONGEST):
        gate.report("dropped", "join", f"something was recorded while another thread was joining the run for more than {_LONGEST} s")
        return None
    try:
        # Whatever joining runs into may ask for the recorder again.
        if looked or _joining:
            return active
        _joining = True
        try:
            found = None if _join is None else _join()
            if not looked:
                active = found
        except Exception as error:  # noqa: BLE001  # a worker's first record must not fail for a bad environment
            gate.swallow(error, "join")
        finally:
            looked, _joining = True, False
        return active
    finally:
        lock.release()


def use(recorder: Recorder | None) -> None:
    """Make `recorder` the one of this process; None means no run, whatever the environment says."""
    global active, looked
    with _lock:
        active, looked = recorder, True


def forget() -> None:
    """Look into the environment again at the next call."""
    global active, looked
    with _lock:
        active, looked = None, False


def snapshot() -> tuple[Recorder | None, bool]:
    """Return the state of this module, for `restore`."""
    return active, looked


def restore(state: tuple[Recorder | None, bool]) -> None:
    """Put back what `snapshot` returned; tests put a recorder of their own in between."""
    global active, looked
    with _lock:
        active, looked = state
        gate.use_counter(active.journal.count if active is not None and active.journal is not None else None)


def on_join(join: Callable[[], Recorder | None]) -> None:
    """Give the function that makes a recorder from the environment."""
    global _join
    _join = join


def _after_fork() -> None:
    global _lock, _joining
    # Whoever held the lock, and joined, is not in the child.
    _lock, _joining = threading.RLock(), False
    if active is not None:
        active.after_fork()


os.register_at_fork(after_in_child=_after_fork)
