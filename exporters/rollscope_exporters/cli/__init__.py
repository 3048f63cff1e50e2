"""The `rollscope` command: one file per sub-command, each with `add(subparsers)` and a function that returns the exit code."""

from __future__ import annotations

from ._main import main

__all__ = ["main"]
