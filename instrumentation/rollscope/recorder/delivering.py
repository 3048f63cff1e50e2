"""How the node's shipper fares, as its status file says: for `rollscope.status()`, and for one log line when nothing gets through."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec

from . import gate

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["complain", "shipper_status"]

_FILE = "shipper.json"
_KEYS = ("state", "endpoint", "error", "error_since", "waiting", "set_aside", "updated")
_LONG, _STALE = 10.0, 30.0
"""Seconds: a failure that has lasted so long is worth a line; a status that old says nothing of now."""


def shipper_status(directory: Path) -> dict[str, object]:
    """Return what the shipper of a node folder last said of itself, and whether it lives; empty when it never said anything."""
    try:
        found = msgspec.json.decode((directory / _FILE).read_bytes())
        told: dict[str, object] = {key: found[key] for key in _KEYS if key in found}
        return {**told, "alive": _lives(found.get("pid"))}
    except (OSError, msgspec.DecodeError, TypeError, AttributeError):
        return {}


def complain(directory: Path) -> None:
    """Log, once in a process, that nothing can be delivered: where to, why, and what to do about it."""
    found = shipper_status(directory)
    since, now = found.get("error_since"), time.time()
    if not isinstance(since, (int, float)) or now - since < _LONG or not _is_recent(found, now):
        return
    gate.notice(
        "not_delivered",
        f"the shipper has not got through for {now - since:.0f} s: {found.get('error')}. Training goes on, and what is recorded waits "
        f"in {directory}; shipper.log there says more",
    )


def _is_recent(found: Mapping[str, object], now: float) -> bool:
    updated = found.get("updated")
    return isinstance(updated, (int, float)) and now - updated < _STALE


def _lives(pid: object) -> bool:
    try:
        os.kill(int(str(pid)), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True
