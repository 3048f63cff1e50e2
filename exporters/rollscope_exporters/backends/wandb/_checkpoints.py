"""Checkpoints as artifact versions: hashed file by file in the thread of uploads, then handed to the run's client as a whole.

Each file's digest is kept in the order, so that no file is read twice for it. The client uploads the files; the order is done when the
server has made a version of them or, offline, when the artifact stands in the run's folder.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ...uploads import ChangedError, Order, check_file, place_of, reachable_files
from ._artifacts import aliases_of, make_checkpoint
from ._compat import file_digest
from ._run import Run

if TYPE_CHECKING:
    from wandb import Artifact as WandbArtifact

_DIGEST = "md5 of "
log = logging.getLogger("rollscope.wandb")


class Checkpoints:
    """Takes one run's checkpoints."""

    def __init__(self, run: Run) -> None:
        self._run = run

    def upload(self, order: Order, file: Path, name: str) -> None:
        """Learn the digest of one file."""
        order.target[_DIGEST + name] = file_digest(file)

    def finish(self, order: Order) -> None:
        """Make a version of all files. Raises `ChangedError` when one was changed since its digest was taken."""
        self._run.publish(*_artifact(order))


def again(orders: Iterable[Order]) -> Iterator[tuple[WandbArtifact, list[str] | None]]:
    """Artifacts and aliases of orders that were carried out, as far as their files are still there."""
    for order in orders:
        try:
            yield _artifact(order)
        except ChangedError as error:
            log.warning("%s: not joined with the rest of the run: %s", order.artifact.name, error)


def _artifact(order: Order) -> tuple[WandbArtifact, list[str] | None]:
    place = place_of(order.artifact)
    files = {listed[0]: (check_file(place, listed), order.target[_DIGEST + listed[0]]) for listed in reachable_files(order.artifact)}
    return make_checkpoint(order.artifact, files), aliases_of(order.artifact)
