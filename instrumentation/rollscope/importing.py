"""Imports made by a call, not by `import rollscope`.

A program may fork while one is under way in a thread, and its child would wait for ever for that import to end: a fork waits instead.
"""

from __future__ import annotations

import os
import threading

__all__ = ["importing"]

# Reentrant: what is imported, or a signal handler meanwhile, may import more, or fork.
importing = threading.RLock()
"""`with importing:` goes around an import that a call makes for the first time, unless `init` has made it before."""

os.register_at_fork(before=importing.acquire, after_in_parent=importing.release, after_in_child=importing.release)
