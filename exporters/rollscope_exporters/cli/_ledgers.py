"""Where a ledger is read from: the storage folder, or a bridge over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import msgspec
import urllib3

from ..ledger import Ledger, read_ledger
from ..store import NoStoreError, Store, StoreError
from ._common import CommandError

ReadLedger = Callable[["str | None"], "Ledger | None"]
"""Run (id, prefix of an id, name; None for the latest) → its ledger, None when there is nothing yet."""


class _Known(Protocol):
    @property
    def run(self) -> str:
        """Id."""

    @property
    def name(self) -> str:
        """Name."""


def from_storage(storage: Path) -> ReadLedger:
    """Read the store and the positions; works while the bridge runs and after it has ended."""

    def read(run: str | None) -> Ledger | None:
        try:
            with Store.open(storage / "store.db", read_only=True) as store:
                id = choose(store.runs(), run)
            return read_ledger(storage, id) if id else None
        except NoStoreError:
            return None
        except (StoreError, ValueError) as error:
            raise CommandError(str(error)) from error

    return read


def from_bridge(url: str, token: str | None) -> ReadLedger:
    """Ask a bridge."""
    pool = urllib3.PoolManager(timeout=10, retries=2)
    headers = {"authorization": f"Bearer {token}"} if token else {}
    base = url.rstrip("/") if "://" in url else f"http://{url}"

    def read(run: str | None) -> Ledger | None:
        try:
            answer = pool.request("GET", f"{base}/v1/ledger", headers=headers)
        except urllib3.exceptions.HTTPError as error:
            raise CommandError(f"the bridge at {base} does not answer: {error}") from error
        if answer.status == 503:
            return None
        if answer.status != 200:
            raise CommandError(f"the bridge at {base} answered {answer.status}: {answer.data.decode(errors='replace').strip()}")
        whole = msgspec.json.decode(answer.data, type=Ledger)
        id = choose(whole.runs, run)
        whole.runs = [each for each in whole.runs if each.run == id]
        return whole if id else None

    return read


def choose(runs: Sequence[_Known], wanted: str | None) -> str | None:
    """Return the id of the run that is meant, None when there is none yet. Raises CommandError when it is unclear."""
    if not runs:
        return None
    if wanted is None:
        return runs[-1].run
    exact = [run.run for run in runs if run.run == wanted] or [run.run for run in runs if run.name == wanted][-1:]
    found = exact or [run.run for run in runs if run.run.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    listed = ", ".join(f"{run.run} ({run.name})" for run in runs[-5:])
    raise CommandError(f"{'several runs begin' if found else 'no run is called or begins'} with {wanted!r}; the latest are {listed}")
