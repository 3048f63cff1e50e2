"""`rollscope config check | show`: the configuration as the bridge sees it."""

from __future__ import annotations

import argparse
import os
from typing import Any

import yaml

from rollscope.redact import Redactor

from ..settings import Problem, Settings, SettingsError, backend_config, config_file
from ._common import Commands, add_settings_options, print_json, settings_of


def add(commands: Commands) -> None:
    """Add the sub-command."""
    parser = commands.add_parser("config", help="check or show the configuration", description=__doc__)
    actions = parser.add_subparsers(metavar="ACTION", required=True)
    check = actions.add_parser("check", help="say whether the bridge can start with it; every problem is listed")
    add_settings_options(check)
    check.set_defaults(run_command=run_check)
    show = actions.add_parser("show", help="print it with every default; secrets are hidden")
    add_settings_options(show)
    show.add_argument("--json", action="store_true", help="as JSON")
    show.set_defaults(run_command=run_show)


def run_check(options: argparse.Namespace) -> int:
    """Load and validate; problems are raised and end with exit code 2."""
    settings = settings_of(options)
    _check_here(settings)
    file = config_file(options.config, os.environ)
    print(f"{file or 'no file; defaults and environment'}: good")
    return 0


def _check_here(settings: Settings) -> None:
    """Raise SettingsError for what is wrong on this machine, where the bridge's processes would find it out."""
    problems = []
    if settings.storage.exists() and not settings.storage.is_dir():
        cure = "Name one on a local disk; it is made if it is not there."
        problems.append(Problem("", "storage", f"{settings.storage} is no folder", cure))
    try:
        Redactor(settings.redact.redaction)
    except ValueError as error:
        problems.append(Problem("", "", str(error)))
    if problems:
        raise SettingsError(problems)


def run_show(options: argparse.Namespace) -> int:
    """Print the configuration in force."""
    shown = plain(settings_of(options))
    if options.json:
        print_json(shown)
    else:
        print(yaml.safe_dump(shown, sort_keys=False, allow_unicode=True), end="")
    return 0


def plain(settings: Settings) -> dict[str, Any]:
    """Return the settings as JSON-compatible data; secrets become asterisks, in the backends' sections too."""
    data: dict[str, Any] = settings.model_dump(mode="json")
    if settings.backends:
        data["backends"] = {name: backend_config(name, section).model_dump(mode="json") for name, section in settings.backends.items()}
    return data
