"""Outbox ids grow for as long as the storage lives, also where its `store.db` is a new one or an older copy put back."""

from __future__ import annotations

import logging
from pathlib import Path

from ..positions import read_workers
from ..store import Store

log = logging.getLogger("rollscope.pipeline")


def continue_numbering(store: Store, storage: Path) -> None:
    """Give no id again that a worker has passed: it would leave out the row, and the ledger take that for delivered.

    The store's own ids are ahead of every position unless the file is another one than those positions were taken in.
    """
    unreadable: list[str] = []
    passed = max((worker.position for worker in read_workers(storage, unreadable)), default=0)
    for problem in unreadable:
        log.error("%s", problem)
    head = store.head()
    if passed <= head:
        return
    with store.transaction() as db:
        db.execute("INSERT OR REPLACE INTO meta VALUES ('head', ?)", (passed,))
    log.error(
        "%s ends at record %d, but backends have taken records up to %d: it is a new or older file than the one they worked with. "
        "What only that one held is lost; new records are numbered from %d",
        store.path, head, passed, passed + 1,
    )  # fmt: skip
