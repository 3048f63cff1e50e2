"""The command line of the shipper: `python -m rollscope.shipper DIR [--once]`."""

from __future__ import annotations

import argparse
import functools
import logging
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import ConfigurationError
from ..journal import list_logs
from ..locks import FileLock
from ..settings import load_settings, seconds
from .embedded import EmbeddedBridge
from .fleet import PRODUCERS
from .launch import CONSOLE, LOCK, STARTING, STARTING_FD
from .log import log_to
from .shipper import GRACE, Shipper
from .status import Status
from .transport import TransportError

_TAKING_OVER = 2.0
"""Seconds to wait for the lock: who looks whether we run holds it for a moment."""
_AFTER_ERROR = 30.0
"""Seconds for which a shipper that cannot work keeps the lock, so that it is not started again and again."""
_log = logging.getLogger("rollscope.shipper")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the shipper; the exit code is 0 when it ended as it should, and with `--once` when all was acknowledged."""
    options = _parser().parse_args(arguments)
    if why := _unusable(options):
        print(f"rollscope: cannot ship: {why}", file=sys.stderr)
        return 2
    log_to(options.directory)
    while True:
        lock = FileLock(options.directory / LOCK)
        try:
            if not lock.acquire(options.timeout if options.once else _TAKING_OVER):
                print(f"another shipper works on {options.directory}", file=sys.stderr)
                return 1 if options.once else 0
            _close_starting(options.directory)
            code, ended_alone = _run(options, functools.partial(lock.named, options.directory / LOCK))
        finally:
            lock.close()
        # A program that began while we ended saw our lock and started no shipper.
        if not ended_alone or not list_logs(options.directory / PRODUCERS):
            return code


def _unusable(options: argparse.Namespace) -> str:
    """Make the node folder, unless only what is in it is to be sent; return why it cannot be used, empty where it can."""
    if options.once and not options.directory.exists():
        return f"there is no {options.directory}; name a node folder, as in ./rollscope/journal"
    try:
        options.directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return f"{options.directory} is no folder that can be written ({error.strerror}); name a node folder, as in ./rollscope/journal"
    return ""


def _run(options: argparse.Namespace, ours: Callable[[], bool]) -> tuple[int, bool]:
    """Exit code, and whether the shipper ended because there was nothing to do."""
    try:
        shipper = _shipper(options.directory, ours)
    except (ConfigurationError, TransportError) as error:
        return _cannot_work(options, str(error)), False
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: shipper.stop())
    _log.info("shipping %s", options.directory)
    if options.once:
        return (0 if shipper.drain(options.timeout) else 1), False
    ended_alone = shipper.run(grace=options.grace)
    _log.info("ended")
    return 0, ended_alone


def _shipper(directory: Path, ours: Callable[[], bool]) -> Shipper:
    settings = load_settings(directory=directory)
    target = settings.endpoints or EmbeddedBridge(settings.storage, os.environ, os.environ.get(CONSOLE))
    return Shipper(directory, target, host_interval=settings.host_interval, redaction=settings.redaction, ours=ours)


def _cannot_work(options: argparse.Namespace, reason: str) -> int:
    _log.error("cannot ship: %s", reason)
    print(f"rollscope: cannot ship: {reason}", file=sys.stderr)
    Status(state="failed", error=reason, error_since=time.time()).write(options.directory)
    if not options.once:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        time.sleep(_AFTER_ERROR)
    return 2


def _close_starting(directory: Path) -> None:
    """Let others start shippers again: from here on the lock speaks for itself."""
    descriptor = os.environ.pop(STARTING_FD, "")
    if not descriptor.isdecimal():
        return
    try:
        if os.path.samestat(os.fstat(int(descriptor)), os.stat(directory / STARTING)):
            os.close(int(descriptor))
    except OSError as error:
        _log.warning("descriptor %s of the starting lock is not ours: %s", descriptor, error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rollscope ship", description="Send the journals of a node as OTLP.")
    parser.add_argument("directory", type=lambda text: Path(text).absolute(), help="the node folder (ROLLSCOPE_DIR)")
    parser.add_argument("--once", action="store_true", help="send what is there and end; exit code 0 when all was acknowledged")
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="how long --once may take (default 60)")
    grace = os.environ.get("ROLLSCOPE_SHIPPER_GRACE") or str(GRACE)
    ends = f"end after this long without producers ({GRACE:g})"
    parser.add_argument("--grace", type=seconds, default=grace, metavar="SECONDS", help=ends)
    return parser
