"""Which step is current: in this context, or in the process where a thread was given no context."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from threading import RLock

from .recorder import report

__all__ = ["StepPoint", "close_step", "current_step", "enter_step", "leave_step", "open_step"]


class StepPoint:
    """What the work of a step needs to know of it: its number, its span where that is known, and where phases put their times."""

    __slots__ = ("_lock", "_pid", "durations", "index", "policy_version", "span_id", "trace_id")

    def __init__(
        self,
        index: int,
        trace_id: bytes | None = None,
        span_id: bytes | None = None,
        *,
        policy_version: int | None = None,
        here: bool = False,
    ) -> None:
        self.index = index
        self.policy_version = policy_version
        self.trace_id = trace_id
        self.span_id = span_id
        self.durations: dict[str, float] | None = {} if here else None
        """Phase → seconds, for a step that runs in this process."""
        self._pid = os.getpid()
        self._lock = RLock()

    def add_duration(self, phase: str, seconds: float) -> bool:
        """Count the time of a phase, a repeated one in sum; return whether the step keeps times here and is still open."""
        if self._pid != os.getpid():
            return False
        with self._lock:
            if self.durations is None:
                return False
            self.durations[phase] = self.durations.get(phase, 0.0) + seconds
            return True

    def take_durations(self) -> dict[str, float]:
        """Return the times and keep no more."""
        with self._lock:
            taken, self.durations = self.durations, None
            return taken or {}


_current: ContextVar[StepPoint | None] = ContextVar("rollscope_step", default=None)
_open: dict[StepPoint, None] = {}
# Reentrant, as all locks of the recorder: a signal handler or a finaliser may record while the same thread holds it.
_lock = RLock()


def current_step() -> StepPoint | None:
    """Return the step of this context; in a thread that was given no context, the latest step that is open in the process."""
    point = _current.get()
    if point is not None or not _open:
        return point
    with _lock:
        return next(reversed(_open), None)


def open_step(point: StepPoint) -> None:
    """Let threads without a context find the step."""
    with _lock:
        _open[point] = None


def close_step(point: StepPoint) -> None:
    """Let nobody find it any more."""
    with _lock:
        _open.pop(point, None)


def enter_step(point: StepPoint) -> Token[StepPoint | None]:
    """Make a step the current one of this context; pair with `leave_step`."""
    return _current.set(point)


def leave_step(token: Token[StepPoint | None]) -> None:
    """Make current again what was so before `enter_step`."""
    try:
        _current.reset(token)
    except (ValueError, RuntimeError):
        report("truncated", "foreign_context", "a step was left in another context than it was entered in")


def _after_fork() -> None:
    # Whoever held the lock is not in the child.
    global _lock
    _lock = RLock()


os.register_at_fork(after_in_child=_after_fork)
