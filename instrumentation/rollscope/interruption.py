"""An exception that a signal handler of the program raised while our code ran: a time limit around a reward function, for one.

Python runs handlers between any two instructions, so such an exception may come up inside a call of ours. It is meant for the program.
"""

from __future__ import annotations

import signal
import threading
from traceback import walk_tb
from types import CodeType

__all__ = ["is_interruption", "pass_on"]


def is_interruption(error: BaseException) -> bool:
    """Return whether a signal handler that is installed raised `error`, by the frames that it came through."""
    trace = error.__traceback__
    # Handlers run in the main thread alone, and in a frame below the one that caught the error.
    if trace is None or trace.tb_next is None or threading.current_thread() is not threading.main_thread():
        return False
    handlers = _handlers()
    return any(frame.f_code in handlers for frame, _ in walk_tb(trace))


def pass_on(error: BaseException) -> None:
    """Raise `error` again where it is the program's (`is_interruption`); call it before an exception is taken for a value's fault."""
    if is_interruption(error):
        raise error


def _handlers() -> set[CodeType]:
    """Return the code of every Python function that is a signal's handler."""
    found: set[CodeType] = set()
    for number in signal.valid_signals():
        handler: object = signal.getsignal(number)
        if not callable(handler):
            continue
        while hasattr(handler, "func"):  # functools.partial
            handler = handler.func
        for function in (handler, getattr(handler, "__func__", None), type(handler).__call__):
            code = getattr(function, "__code__", None)
            if isinstance(code, CodeType):
                found.add(code)
    return found
