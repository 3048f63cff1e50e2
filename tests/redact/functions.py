"""Functions that a configuration could name."""

from __future__ import annotations

import contextlib
import time


def hang(key: str, text: str) -> str:
    """Never return, and catch whatever comes."""
    while True:
        with contextlib.suppress(Exception):
            time.sleep(0.01)


def scrub(key: str, text: str) -> str:
    """Take one word out; fail over another."""
    if "poison" in text:
        raise RuntimeError(text)
    return text.replace("hunter2", "…")
