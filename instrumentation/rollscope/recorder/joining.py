"""Joining the run that the environment carries, with the first call; without one nothing that a run needs is imported for the question."""

from __future__ import annotations

import os

from ..importing import importing
from . import session
from .environment import RUN_ID
from .recorder import Recorder


def _join() -> Recorder | None:
    """Return a recorder for the run that the environment carries, None without one. Raises `ConfigurationError`."""
    if not os.environ.get(RUN_ID):
        return None
    with importing:
        from . import starting

    return starting.join()


session.on_join(_join)

if os.environ.get(RUN_ID):
    from . import starting as starting  # a worker's first record need not wait for it
