"""`rollscope ship`: the shipper by hand."""

from __future__ import annotations

import argparse

from rollscope.settings import seconds

from ._common import Commands


def add(commands: Commands) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("ship", help="send what the journals of a node hold", description=__doc__)
    parser.add_argument("directory", metavar="DIR", help="node folder, as in ./rollscope/journal")
    parser.add_argument("--once", action="store_true", help="end when everything that is there was sent")
    parser.add_argument("--timeout", type=seconds, default=60.0, metavar="SECONDS", help="how long --once may take (default: %(default)s)")
    parser.set_defaults(run_command=run)


def run(options: argparse.Namespace) -> int:
    """Run the shipper in this process."""
    from rollscope.shipper import main

    return main([options.directory, "--timeout", str(options.timeout), *(["--once"] if options.once else [])])
