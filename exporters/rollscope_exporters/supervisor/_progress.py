"""Is everything that came in also out, or is something still waited for?"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from rollscope.journal import LogReader

from ..positions import WorkerState
from ..store import Store

_WAITING = """
SELECT EXISTS (SELECT 1 FROM traces WHERE open = 1) OR EXISTS (SELECT 1 FROM held)
    OR EXISTS (SELECT 1 FROM runs WHERE status = 'running')
"""


@dataclass(frozen=True, slots=True)
class Progress:
    """What is still under way."""

    inbox_bytes: int
    """Accepted and not yet processed."""
    behind: dict[str, int]
    """Worker → outbox ids before it; only those that run."""
    held: bool = False
    """Whether rows wait for the start of their run to be told."""

    @property
    def done(self) -> bool:
        """Whether nothing is under way."""
        return not self.inbox_bytes and not self.behind and not self.held


def progress(inbox: Path, store: Store | None, states: Sequence[WorkerState], running: Collection[str]) -> Progress:
    """Compare inbox, store and positions; before there is a store only the inbox counts."""
    pending = pending_bytes(inbox)
    if store is None:
        return Progress(pending, {})
    head = store.head()
    positions = {state.name: state.position for state in states}
    behind = {name: head - positions.get(name, 0) for name in running if positions.get(name, 0) < head}
    return Progress(pending, behind, bool(store.db.execute("SELECT EXISTS (SELECT 1 FROM held)").fetchone()[0]))


def pending_bytes(inbox: Path) -> int:
    """Return what was accepted and not yet processed."""
    with closing(LogReader(inbox)) as reader:
        return reader.pending_bytes()


def is_waiting(store: Store) -> bool:
    """Say whether the pipeline waits for the rest of a trace or for the end of a run."""
    return bool(store.db.execute(_WAITING).fetchone()[0])
