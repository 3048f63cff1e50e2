"""Imports made by a call, not by `import rollscope`.

A program may fork while one is under way in a thread, and its child would wait for ever for that import to end: a fork waits instead.
"""

from __future__ import annotations

import logging as logging  # first: hooks before a fork run in reverse order, and an import that we wait for may ask for a logger
import os
import threading

__all__ = ["importing"]

_LONGEST = 5.0
"""Seconds that a fork waits: the import may in turn need what another hook before the fork holds."""


class _Importing:
    """Reentrant: what is imported, or a signal handler meanwhile, may import more, or fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        self._lock.release()

    def wait(self) -> None:
        """Before a fork."""
        self._lock.acquire(timeout=_LONGEST)

    def go_on(self) -> None:
        """After it, in the parent."""
        try:
            self._lock.release()
        except RuntimeError:  # waited in vain
            return

    def begin(self) -> None:
        """After it, in the child."""
        try:
            self._lock.release()
        except RuntimeError:  # whoever holds it is not here
            self._lock = threading.RLock()


importing = _Importing()
"""`with importing:` goes around an import that a call makes for the first time, unless `init` has made it before."""

os.register_at_fork(before=importing.wait, after_in_parent=importing.go_on, after_in_child=importing.begin)
