"""What several sub-commands share."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any, TypeAlias

import msgspec

from ..settings import Settings, load

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class CommandError(Exception):
    """When a command cannot do what it was asked; the message names cause and cure."""


def add_settings_options(parser: argparse.ArgumentParser) -> None:
    """Add `--config` and `--storage`."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="configuration (default: $ROLLSCOPE_CONFIG, else ./rollscope.yaml)")
    parser.add_argument(
        "--storage", type=Path, metavar="DIR", help="storage folder (default: the configuration's, $ROLLSCOPE_STORAGE, ./rollscope)"
    )


def settings_of(options: argparse.Namespace, **overrides: tuple[str, object]) -> Settings:
    """Load the configuration with what the command line says over it. Raises SettingsError."""
    given: dict[str, tuple[str, object]] = {key.replace("__", "."): value for key, value in overrides.items()}
    return load(options.config, os.environ, given | _storage(options))


def storage_of(options: argparse.Namespace) -> Path:
    """Return the storage folder; no backend is imported for that. Raises SettingsError."""
    return load(options.config, os.environ, _storage(options), backends=()).storage


def _storage(options: argparse.Namespace) -> dict[str, tuple[str, object]]:
    return {"storage": ("--storage", options.storage)} if options.storage else {}


def print_json(data: Any) -> None:
    """Print `data` as indented JSON."""
    sys.stdout.write(msgspec.json.format(msgspec.json.encode(data), indent=2).decode() + "\n")
