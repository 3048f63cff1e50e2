"""Which runs want a backend."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..store import Store

Wants = Callable[["Sequence[str] | None"], bool]
"""What a run asked for → whether this backend is part of it."""


class Runs:
    """Remembers what runs said; one that said nothing is looked up again whenever there is news, for its start may have been a guess."""

    def __init__(self, store: Store, wants: Wants) -> None:
        self._store, self._wants = store, wants
        self._known: dict[str, bool] = {}
        self._head = -1

    def wanted(self, run: str) -> bool:
        """Say whether `run` wants the backend; one that nothing is known of is taken to have said nothing."""
        if run not in self._known and (head := self._store.head()) != self._head:
            # What a run says is committed with the row that says it: whoever has read the row finds it here.
            self._head = head
            self._known = {row.run: self._wants(row.backends) for row in self._store.runs() if row.backends is not None}
        return self._known[run] if run in self._known else self._wants(None)

    def undecided(self, run: str) -> bool:
        """Say whether `run` may still want something else."""
        return run not in self._known
