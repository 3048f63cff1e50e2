"""What a child process of the bridge does when it starts, and the exit codes by which it speaks to its supervisor."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Literal, get_args

__all__ = ["EXIT_RESTART", "EXIT_SETTINGS", "STOP_GRACE", "After", "add_after", "begin"]

EXIT_SETTINGS = 78
"""The configuration or the store is wrong: starting again is of no use until that changes."""
EXIT_RESTART = 75
"""A backend cannot be reached; start again."""
STOP_GRACE = 20.0
"""Seconds that a worker may take to end after it was told to."""
After = Literal["crash", "hang"]
"""How the process before this one ended, where that was its own doing."""


def add_after(parser: argparse.ArgumentParser, then: str) -> None:
    """Add the option by which a supervisor tells a child; `then`: what the child does for a while."""
    parser.add_argument("--after", choices=get_args(After), help=f"the process before this one ended by itself, or got stuck: {then}")


def begin(grace: float, *, supervised: bool) -> threading.Event:
    """Log to standard error, and return the event that says when to end: at SIGTERM, SIGINT, or, `supervised`, with the parent.

    grace: seconds that a child has to end after its parent did, before it is ended by force.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(levelname)s %(name)s: %(message)s")
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    if supervised:
        _end_with_parent(stop.set, grace)
    return stop


def _end_with_parent(stop: Callable[[], object], grace: float) -> None:
    """Call `stop` when standard input closes, whose other end the parent holds; end the process by force `grace` seconds later."""
    threading.Thread(target=_watch, args=(sys.stdin.fileno(), stop, grace), name="parent-watch", daemon=True).start()


def _watch(descriptor: int, stop: Callable[[], object], grace: float) -> None:
    while os.read(descriptor, 4096):
        pass
    stop()
    threading.Timer(grace, os._exit, (1,)).start()
