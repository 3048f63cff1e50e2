"""`rollscope ledger`: what was produced, received, delivered and is missing, and the verdict."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from rollscope.settings import seconds

from ..ledger import Ledger
from ._common import Commands, add_settings_options, print_json, storage_of
from ._ledgers import ReadLedger, from_bridge, from_storage
from ._unsent import Unsent, find_unsent

_EVERY = 0.3
_TOKEN = "ROLLSCOPE__LISTEN__TOKEN"


def add(commands: Commands) -> None:
    """Add the sub-command."""
    parser = commands.add_parser(
        "ledger",
        help="produced, received, delivered per backend, missing, verdict",
        description=__doc__,
        epilog="exit code 0 only when complete",
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="id, beginning of an id, or name (default: the latest run)")
    waits = "wait up to this long for the run to be complete; ends when it cannot become it any more"
    parser.add_argument("--wait", type=seconds, default=0.0, metavar="SECONDS", help=waits)
    parser.add_argument("--json", action="store_true", help="as JSON")
    parser.add_argument("--bridge", metavar="URL", help=f"ask this bridge instead of reading its storage; its token by {_TOKEN}")
    add_settings_options(parser)
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Print the ledger; 0 when it is complete."""
    unsent: list[Unsent] = []
    if options.bridge:
        where = options.bridge
        read = from_bridge(options.bridge, os.environ.get(_TOKEN))
    else:
        storage = storage_of(options)
        where = f"{storage}{_elsewhere(os.environ)}"
        read = from_storage(storage)
        unsent = find_unsent(storage, os.environ)
    with _telling(options.wait) as tell:
        found = wait_for(read, options.run, options.wait, tell)
    if options.json:
        print_json(as_data(found, unsent))
    else:
        _print(found, unsent, where)
    return 0 if found and found.complete else 1


def wait_for(
    read: ReadLedger, run: str | None, seconds: float, tell: Callable[[Ledger | None], None] = lambda found: None
) -> Ledger | None:
    """Read until the ledger is complete, or cannot become it any more, or the time is over; return the last reading.

    `tell` is given each reading that is waited behind.
    """
    until = time.monotonic() + seconds
    while True:
        found = read(run)
        if (found and found.settled) or time.monotonic() >= until:
            return found
        tell(found)
        time.sleep(_EVERY)


@contextlib.contextmanager
def _telling(seconds: float) -> Iterator[Callable[[Ledger | None], None]]:
    """Show what is still waited for, where a terminal is there to show it on; standard output stays for the result."""
    if not seconds or not sys.stderr.isatty():
        yield lambda found: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("waiting") as status:
        yield lambda found: status.update(Text(awaited(found)))


def awaited(found: Ledger | None) -> str:
    """Say in a line what the runs wait for."""
    reasons = [reason for run in found.runs for reason in run.reasons] if found else ["no run has arrived yet"]
    return f"waiting: {'; '.join(reasons)}" if reasons else "waiting"


def as_data(found: Ledger | None, unsent: list[Unsent]) -> dict[str, Any]:
    """Return the ledger as JSON-compatible data, with the journals that nobody sends."""
    data: dict[str, Any] = msgspec.to_builtins(found or Ledger(runs=[]))
    return {**data, "unsent": msgspec.to_builtins(unsent)}


def _elsewhere(environ: Mapping[str, str]) -> str:
    """Say how to look at another bridge than the one of this folder, where programs send to one."""
    endpoint = environ.get("ROLLSCOPE_ENDPOINT")
    return f"; programs started here send to {endpoint}: ask that bridge with --bridge URL" if endpoint else ""


def _print(found: Ledger | None, unsent: list[Unsent], where: str) -> None:
    from rich.console import Console  # takes a while, and JSON does without

    from ._tables import print_run

    console = Console()
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = 200  # nobody's window: a row stays a line
    if not found:
        console.print(f"no run has arrived yet in {where}", highlight=False, markup=False, soft_wrap=True)
    for each in found.runs if found else ():
        print_run(console, each)
    for reason, count in (found.rejected if found else {}).items():
        console.print(f"rejected: {count} {reason}", highlight=False, markup=False)
    for entry in unsent:
        console.print(str(entry), highlight=False, markup=False, soft_wrap=True)
