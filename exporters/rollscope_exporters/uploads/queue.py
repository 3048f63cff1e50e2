"""The folder of orders: `<storage>/uploads/<backend>/<key>.json`, one file an order, each replaced as a whole."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from rollscope.files import replace_file

from .order import Order, decode, encode

FOLDER = "uploads"
_KEPT = 2000
"""Orders that are done with; the oldest are forgotten, long after their record can come again."""
_MOST_OPEN = 1000

log = logging.getLogger("rollscope.uploads")


class Upload(NamedTuple):
    """An upload as the ledger sees it."""

    backend: str
    what: str
    failed: str
    """Why it was given up, empty while it is under way."""


class OrderFolder:
    """The orders of one backend, or those of one of its runs; what was ordered once stays known when it is done."""

    def __init__(self, storage: Path, backend: str, run: str | None = None) -> None:
        self._folder, self._run = storage / FOLDER / backend, run

    def add(self, order: Order) -> bool:
        """Keep an order; False when it was there already, done or not. Raises `OSError`."""
        path = self._path(order)
        if path.exists():
            return False
        self._folder.mkdir(parents=True, exist_ok=True)
        if sum(1 for _ in self.open_orders()) >= _MOST_OPEN:
            order.failed = f"{_MOST_OPEN} uploads wait already"
        replace_file(path, encode(order), durable=True)
        return True

    def save(self, order: Order) -> None:
        """Keep how far an order is. Raises `OSError`."""
        replace_file(self._path(order), encode(order), durable=True)
        if not order.open:
            self._forget()

    def open_orders(self) -> Iterator[Order]:
        """Orders with something left to do, oldest first."""
        return (order for order in self._mine() if order.open)

    def finished_orders(self) -> Iterator[Order]:
        """Orders that were carried out, oldest first, as far back as they are kept."""
        return (order for order in self._mine() if order.finished)

    def _mine(self) -> Iterator[Order]:
        return (order for order in _orders(self._folder) if self._run in (None, order.artifact.run))

    def _forget(self) -> None:
        orders = [order for order in _orders(self._folder) if order.finished]
        for order in orders[:-_KEPT]:
            self._path(order).unlink(missing_ok=True)

    def _path(self, order: Order) -> Path:
        return self._folder / f"{order.key}.json"


def read_uploads(storage: Path, run: str | None = None) -> list[Upload]:
    """Uploads of `run`, or of all runs, that are under way or were given up."""
    root = storage / FOLDER
    folders = sorted(root.iterdir()) if root.is_dir() else []
    return [
        Upload(folder.name, f"{order.artifact.type} {order.artifact.name}", order.failed)
        for folder in folders
        for order in _orders(folder)
        if not order.finished and run in (None, order.artifact.run)
    ]


def under_way(storage: Path) -> bool:
    """Whether a checkpoint is being uploaded from this storage."""
    return any(not upload.failed for upload in read_uploads(storage))


def _orders(folder: Path) -> Iterator[Order]:
    files = [(path.stat().st_mtime_ns, path) for path in folder.glob("*.json")] if folder.is_dir() else []
    found: list[Order] = []
    for _, path in sorted(files):
        try:
            found.append(decode(path.read_bytes()))
        except FileNotFoundError:
            continue
        except msgspec.MsgspecError as error:
            log.error("%s is no order of an upload: %s", path, error)
    yield from sorted(found, key=lambda order: order.artifact.time)
