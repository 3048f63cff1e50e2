"""Waiting for what another process does."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(what: Callable[[], T], seconds: float = 120.0, *, say: str | Callable[[], object] = "") -> T:
    """Return the first true value of `what`; fail with what `say` tells when none comes within `seconds`."""
    end = time.monotonic() + seconds
    while not (value := what()):
        assert time.monotonic() < end, f"it did not come to pass within {seconds:g} s: {say if isinstance(say, str) else say()}"
        time.sleep(0.02)
    return value
