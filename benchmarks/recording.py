"""A run of rollscope whose records stay in the journal: nothing of a shipper or bridge runs beside what is timed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import rollscope as rs

SPAN_ATTRIBUTES: dict[str, str | bool | int | float] = {
    "gen_ai.operation.name": "execute_tool",
    "gen_ai.tool.name": "get_reservation_details",
    "gen_ai.tool.call.id": "call_8f3a61c2",
    "rl.step.index": 128,
    "rl.trajectory.turn": 3,
    "rl.policy.version": 127,
    "tool.latency": 0.0173,
    "tool.cached": False,
    "tool.attempt": 1,
    "tool.backend": "airline-db-3",
}
"""Ten attributes of a tool call."""


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is gone afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="rollscope-bench-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def recording(folder: Path, limit: str = "4GiB") -> Iterator[None]:
    """Record into `folder` as a training process does, with the defaults of a user."""
    before = os.environ.get("ROLLSCOPE_SHIPPER")
    os.environ["ROLLSCOPE_SHIPPER"] = "off"
    try:
        rs.init(project="bench", experiment="bench", directory=folder / "journal", storage=folder, circumstances=False, journal_limit=limit)
        yield
    finally:
        rs.finish()
        if before is None:
            del os.environ["ROLLSCOPE_SHIPPER"]
        else:
            os.environ["ROLLSCOPE_SHIPPER"] = before
