"""Locks of the recorder: a signal handler, or an object that is collected, may record while its own thread holds one."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path

import rollscope as rs
from rollscope import images, step_point
from rollscope import vocabulary as v
from rollscope.recorder import session, starting
from rollscope.testing import Memory
from rollscope.trajectory import identity

SOURCES = Path(rs.__file__).parent


def test_every_lock_is_reentrant() -> None:
    """In all that runs in the program's own processes; a plain lock would be waited for by the thread that holds it."""
    own = [path for path in SOURCES.rglob("*.py") if "shipper" not in path.relative_to(SOURCES).parts]
    assert len(own) > 100
    assert [path.name for path in own if re.search(r"\bLock\(\)", path.read_text(encoding="utf-8"))] == []


def test_recording_inside_every_lock_returns(memory: Memory) -> None:
    """Each lock of a module is held while steps, trajectories and images are recorded in the same thread."""
    with contextlib.ExitStack() as held:
        for lock in (step_point._lock, identity._lock, images._sent._lock, session._lock, starting._lock):
            held.enter_context(lock)
        with rs.step(1), rs.trajectory(group="g", index=0) as trajectory:
            rs.log({"loss": 1.0})
            trajectory.reward(1.0)
    assert {span.name for span in memory.spans} >= {v.SPAN_STEP, v.SPAN_INVOKE_AGENT}
