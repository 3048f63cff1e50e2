"""Seeing with which exit code a program is left: Python tells `atexit` nothing of it, and `sys.excepthook` nothing of `SystemExit`."""

from __future__ import annotations

import builtins
import contextlib
import itertools
import sys
import threading
import time
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType
from typing import Any, NoReturn

__all__ = ["Exit", "exit_code", "unwatch", "watch"]

_RECENT = 30.0
"""Seconds after which an exit that is still remembered by somebody was caught: its program went on."""
_QUITTERS = ("exit", "quit")
_original: Callable[..., Any] = sys.exit
_numbers = itertools.count(1)
_latest: tuple[int, weakref.ref[Exit]] | None = None
_left: object = None


class Exit(SystemExit):
    """What `sys.exit`, `exit` and `quit` raise in the main thread of a run: it notices when it has left the program, not when caught.

    It is destroyed once nobody handles it any more; where no frame is below that moment, nobody did, and the program ends of it.
    """

    def __init__(self, *arguments: object) -> None:
        global _latest
        super().__init__(*arguments)
        self.raised = time.monotonic()
        self.number = next(_numbers)
        _latest = self.number, weakref.ref(self)

    def __del__(self) -> None:
        global _left
        try:
            if sys._getframe().f_back is None and _latest is not None and _latest[0] == self.number:
                _left = self.code
        except Exception:  # noqa: BLE001, S110  # the interpreter may be half taken down; then nobody wants to know
            pass

    def __reduce__(self) -> tuple[Any, ...]:
        return SystemExit, self.args


def watch() -> None:
    """Look out for `sys.exit` and the like from now on, unless they are somebody else's by now: theirs is to be called, not ours."""
    global _original
    if isinstance(sys.exit, BuiltinFunctionType):
        _original, sys.exit = sys.exit, _exit
    for name in _QUITTERS:
        found = getattr(builtins, name, None)
        if type(found).__module__ == "_sitebuiltins":
            setattr(builtins, name, _Quitter(found))


def unwatch() -> None:
    """Put back what is still ours."""
    if sys.exit is _exit:
        sys.exit = _original
    for name in _QUITTERS:
        found = getattr(builtins, name, None)
        if isinstance(found, _Quitter):
            setattr(builtins, name, found.original)


def exit_code() -> object:
    """Return the code of the `sys.exit` of which the program is ending, None where it ends otherwise.

    One that is kept alive by what it passed through, as it is by asyncio's tasks, counts while it is recent.
    """
    kept = None if _latest is None else _latest[1]()
    return kept.code if kept is not None and time.monotonic() - kept.raised < _RECENT else _left


def _exit(status: Any = None, /) -> NoReturn:
    if threading.current_thread() is not threading.main_thread():
        _original(status)  # ends the thread, and `threading` knows this very class only
    raise Exit(status)


class _Quitter:
    """`exit` or `quit`, as Python's `site` adds them."""

    def __init__(self, original: Any) -> None:
        self.original = original

    def __repr__(self) -> str:
        return repr(self.original)

    def __call__(self, code: Any = None) -> NoReturn:
        with contextlib.suppress(SystemExit):
            self.original(code)  # closes standard input
        _exit(code)


_exit.__name__ = _exit.__qualname__ = "exit"
_exit.__doc__ = sys.exit.__doc__
