"""`rollscope bridge`: the bridge alone."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

from rollscope.journal import JournalError
from rollscope.shipper import LOCK

from ..settings import Settings
from ._common import CommandError, Commands, add_settings_options, settings_of

EXIT_LOCKED = 3
"""Another bridge runs on the storage."""


def add(commands: Commands) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("bridge", help="take OTLP and deliver it to the backends", description=__doc__)
    add_listen_options(parser)
    parser.add_argument("--embedded", action="store_true", help="started by a shipper: free loopback ports, ends when all is delivered")
    parser.add_argument("--console", metavar="PATH", help="with --embedded: where the console backend writes besides console.log")
    parser.set_defaults(run_command=run)


def add_listen_options(parser: argparse.ArgumentParser) -> None:
    """Add what says where the bridge listens, and its configuration."""
    add_settings_options(parser)
    parser.add_argument("--grpc", metavar="HOST:PORT", help="listen here for OTLP/gRPC; port 0 lets the system choose")
    parser.add_argument("--http", metavar="HOST:PORT", help="listen here for OTLP/HTTP")


def run(options: argparse.Namespace) -> int:
    """Run until told to end."""
    from ..supervisor import Bridge, BridgeOptions  # the servers it brings are of no use to other commands

    settings = bridge_settings(options)
    extra = {"console": [f"path={options.console}"]} if options.console else {}
    node = os.environ.get("ROLLSCOPE_DIR")
    bridge_options = BridgeOptions(
        config=options.config, embedded=options.embedded, shipper_lock=Path(node) / LOCK if node else None, extra=extra
    )
    return serve(Bridge.serve(settings, bridge_options))


def serve(work: Coroutine[Any, Any, None]) -> int:
    """Run `work`, which makes a bridge and serves, to its end and return the exit code. Raises CommandError."""
    from ..receiver import ListenError
    from ..supervisor import LockedError, RemovedError, StorageError

    try:
        asyncio.run(work)
    except LockedError as error:
        print(f"rollscope: {error}", file=sys.stderr)
        return EXIT_LOCKED
    except (ListenError, RemovedError, StorageError, JournalError, OSError) as error:
        raise CommandError(str(error)) from error
    return 0


def bridge_settings(options: argparse.Namespace) -> Settings:
    """Return the configuration with what the command line says over it; an embedded bridge listens for its own node only."""
    given: dict[str, tuple[str, object]] = {}
    for name in ("grpc", "http"):
        if getattr(options, name):
            given[f"listen__{name}"] = (f"--{name}", getattr(options, name))
        elif options.embedded:
            given[f"listen__{name}"] = ("--embedded", "127.0.0.1:0")
    if options.embedded:
        given |= {"listen__token": ("--embedded", None), "listen__tls": ("--embedded", None)}
    return settings_of(options, **given)
