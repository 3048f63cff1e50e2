"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
_SHARE = 4
"""A pause lasts this many times as long as the look before it: what is waited for needs the processor more."""
_LONGEST = 1.0
"""Seconds between two looks, at most."""


def until(what: Callable[[], T], seconds: float = 120.0, *, say: str | Callable[[], object] = "") -> T:
    """Return the first true value of `what`; fail with what `say` tells when none comes within `seconds`."""
    end = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        if value := what():
            return value
        assert began < end, f"it did not come to pass within {seconds:g} s: {say if isinstance(say, str) else say()}"
        time.sleep(min(max(0.02, _SHARE * (time.monotonic() - began)), _LONGEST))


def ends_of_logs(folder: Path) -> str:
    """The last that services below `folder` said."""
    return "\n".join(f"{log.relative_to(folder)}: {log.read_text(errors='replace')[-1500:]}" for log in sorted(folder.rglob("*.log")))
