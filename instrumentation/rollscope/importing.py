"""Imports made by a call, not by `import rollscope`.

A program may fork while one is under way in a thread, and its child would wait for ever for that import to end: a fork waits instead.
"""

from __future__ import annotations

import contextlib
import logging as logging  # first: hooks before a fork run in reverse order, and an import that we wait for may ask for a logger
import os
import threading

__all__ = ["importing"]

_LONGEST = 5.0
"""Seconds that anybody waits: the import under way may in turn need what the waiting thread holds, a module or another hook's lock."""


class _Importing:
    """Reentrant: what is imported, or a signal handler meanwhile, may import more, or fork."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def enter(self) -> None:
        """Begin to import, or to fork."""
        self._lock.acquire(timeout=_LONGEST)

    def leave(self) -> None:
        """End what `enter` began."""
        with contextlib.suppress(RuntimeError):  # waited in vain, or a signal handler raised meanwhile
            self._lock.release()

    def leave_in_child(self) -> None:
        """The same in a forked child, where whoever else held it is not."""
        try:
            self._lock.release()
        except RuntimeError:
            self._lock = threading.RLock()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *error: object) -> None:
        self.leave()


importing = _Importing()
"""`with importing:` goes around an import that a call makes for the first time, unless `init` has made it before."""

os.register_at_fork(before=importing.enter, after_in_parent=importing.leave, after_in_child=importing.leave_in_child)
