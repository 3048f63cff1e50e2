"""Parse the command line and hand over."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib.metadata import version

from ..settings import SettingsError
from . import bridge, config, journal, ledger, ship, up
from ._common import CommandError

EXIT_ERROR = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `rollscope`; return 0 only when all is well."""
    parser = _parser()
    options = parser.parse_args(arguments)
    if "run_command" not in options:
        parser.print_help(sys.stderr)  # instead of one line about what is missing
        sys.exit(EXIT_ERROR)
    try:
        code: int = options.run_command(options)
    except (CommandError, SettingsError) as error:
        print(f"rollscope: {error}", file=sys.stderr)
        return EXIT_ERROR
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rollscope", description="The flight recorder of LLM reinforcement learning.")
    parser.add_argument("--version", action="version", version=f"rollscope {version('rollscope')}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in (up, bridge, ship, ledger, config, journal):
        command.add(commands)
    return parser
