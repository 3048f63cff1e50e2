"""The one gate between our mistakes and a training run: after `init` nothing of ours is raised, everything is counted.

An error is counted by name (in the journal's counters, where the ledger finds it) and logged once per name. Under
`rollscope.testing` the gate raises instead, so that a test sees what production would only count.
"""

from __future__ import annotations

import functools
import logging
import threading
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import Literal, ParamSpec, TypeVar

from ..interruption import is_interruption

__all__ = ["counted", "forget", "guard", "guarded", "notice", "report", "set_strict", "strict", "swallow", "use_counter"]

P = ParamSpec("P")
R = TypeVar("R")
CounterKind = Literal["dropped", "truncated", "failed"]
"""Records that are lost; values that were shortened or replaced; calls that recorded nothing because of what they were given."""
Count = Callable[[CounterKind, str], None]

logger = logging.getLogger("rollscope")

_state = threading.local()
_seen: Counter[str] = Counter()
_count: Count | None = None
_strict = False


def use_counter(count: Count | None) -> None:
    """Send counts to `count(kind, reason)` from now on; the running recorder gives its journal's."""
    global _count
    _count = count


def strict() -> bool:
    """Return whether errors are raised."""
    return _strict


def set_strict(on: bool) -> bool:
    """Raise errors of ours instead of counting them; return what was set before."""
    global _strict
    before, _strict = _strict, on
    return before


def counted() -> dict[str, int]:
    """Return how often each kind of error or replacement happened in this process."""
    return dict(_seen)


def forget() -> None:
    """Begin to count anew, so that the next error of a kind is logged again."""
    _seen.clear()


def report(kind: CounterKind, reason: str, message: str, error: BaseException | None = None) -> None:
    """Count `reason` and log `message` the first time it happens. Never raises."""
    _seen[reason] += 1
    if _count is not None:
        _count(kind, reason)
    _tell_once(reason, message, error)


def notice(reason: str, message: str) -> None:
    """Count and log, once, something that loses nothing: it stays out of the run's own counters."""
    _seen[reason] += 1
    _tell_once(reason, message)


def _tell_once(reason: str, message: str, error: BaseException | None = None) -> None:
    # A logging handler of the program may record through us again: the second round is counted, not logged.
    if _seen[reason] != 1 or getattr(_state, "reporting", False):
        return
    _state.reporting = True
    try:
        logger.warning("rollscope: %s (%s; counted from now on, not logged again)", message, reason, exc_info=error)
    except Exception as failure:
        # The program's handlers may raise, as those that make errors of warnings do; and so may anything where the stack is nearly full.
        if _strict or is_interruption(failure):
            raise
    finally:
        _state.reporting = False


def swallow(error: Exception, reason: str, kind: CounterKind = "failed") -> None:
    """Count `error` under `reason`, or raise it when the gate is strict. `kind` is `dropped` where a record was lost by it.

    What a signal handler of the program raised is counted and goes on to the program.
    """
    if _strict:
        raise error
    if is_interruption(error):
        report(kind, "interrupted", f"a signal handler raised {type(error).__name__} while something was recorded")
        raise error
    report(kind, reason, f"{type(error).__name__}: {error}", error)


class guard:
    """Context manager around code of ours: `with guard("log"): …`. Never wrap user code in it."""

    __slots__ = ("kind", "reason")

    def __init__(self, reason: str, kind: CounterKind = "failed") -> None:
        self.reason, self.kind = reason, kind

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> bool:
        if not isinstance(error, Exception) or _strict:
            return False
        swallow(error, self.reason, self.kind)
        return True


def guarded(reason: str) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Decorate a function of ours: an exception is counted under `reason` and None returned."""

    def decorate(function: Callable[P, R]) -> Callable[P, R | None]:
        @functools.wraps(function)
        def run(*args: P.args, **kwargs: P.kwargs) -> R | None:
            try:
                return function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001  # the purpose of the gate
                swallow(error, reason)
                return None

        return run

    return decorate
