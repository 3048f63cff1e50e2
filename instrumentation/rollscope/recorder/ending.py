"""The end of a run: by `finish`, by the end of the program, or by the exception or exit code that ended it."""

from __future__ import annotations

import atexit
import sys
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal

from .. import vocabulary as v
from ..records import PRIORITY_RUN
from ..secrets import mask_text
from . import gate, leaving, session
from .environment import withdraw
from .failures import message_of, type_name
from .recorder import Recorder

__all__ = ["close_at_exit_of_child", "finish", "install_hooks"]

Status = Literal["finished", "failed", "aborted"]

_EXIT_WAIT = 0.4
"""Seconds that the end may wait for the keeper's first look at the shipper, which a very short program is still owed."""
_ERROR_LENGTH = 4096

_installed = False
_failure: tuple[Status, str] | None = None
_previous_hook: Callable[..., Any] = sys.excepthook


def finish(status: Status | None = None, error: str | None = None) -> None:
    """End the run of this process: its driver records how it ended, every process closes its journal.

    `status` is `finished` unless given or unless an exception is ending the program; at the end of the program also `failed` for
    another exit code than 0 by `sys.exit`. Delivery is not waited for: what was recorded lies in the journal. After it, calls record
    nothing until the next `init`.
    """
    recorder, _ = session.snapshot()
    if recorder is None:
        return
    with gate.guard("finish", "dropped"):
        _finish(recorder, status, error)


def install_hooks() -> None:
    """See how the program ends: `sys.excepthook` with the former hook behind it, and `sys.exit`."""
    global _installed, _previous_hook
    leaving.watch()
    if _installed:
        return
    _installed = True
    _previous_hook = sys.excepthook
    sys.excepthook = _on_exception


def close_at_exit_of_child(recorder: Recorder) -> None:
    """Close the journal where `multiprocessing` ends a forked child: it leaves by `os._exit`, past `atexit`."""

    def register() -> None:
        util = sys.modules.get("multiprocessing.util")
        if recorder.epoch and util is not None:
            util.Finalize(None, recorder.close, exitpriority=0)

    recorder.on_open.append(register)


def _finish(recorder: Recorder, status: Status | None, error: str | None) -> None:
    recorder.settle()
    if recorder.driver:
        ended, message = (status or "finished", error or "") if status or not _failure else _failure
        attributes = {v.RUN_STATUS: ended, v.RUN_ERROR: mask_text(message)[:_ERROR_LENGTH]} if message else {v.RUN_STATUS: ended}
        recorder.event(v.EVENT_RUN_FINISHED, attributes, priority=PRIORITY_RUN)
    if recorder.keeper is not None:
        recorder.keeper.stop(_EXIT_WAIT)
    recorder.close()
    leaving.unwatch()
    withdraw()
    session.use(None)


def _on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    global _failure
    if threading.current_thread() is threading.main_thread():
        _failure = ("aborted" if issubclass(kind, KeyboardInterrupt) else "failed", f"{type_name(kind)}: {message_of(error)}")
    _previous_hook(kind, error, trace)


def _at_exit() -> None:
    recorder, _ = session.snapshot()
    if recorder is not None:
        with gate.guard("exit", "dropped"):
            code = leaving.exit_code()
            if code not in (None, 0) and not _failure:
                _finish(recorder, "failed", f"SystemExit: {message_of(SystemExit(code))}")
            else:
                _finish(recorder, None, None)


# At import, not at `init`: what others register later comes first, so that what they record at the exit is still recorded.
atexit.register(_at_exit)
