"""Sorts records by run and keeps each run's files exact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import tensorboard as _installed  # noqa: F401 - says at once what is missing
from pydantic import BaseModel

from ...records import Record
from .._by_run import ByRun
from .._protocol import UnavailableError
from ._config import TensorboardConfig
from ._run import Marks, Run


class TensorboardBackend:
    """Writes event files. Spans, artifacts and log lines are not sent: TensorBoard has no place for them."""

    Config: ClassVar[type[BaseModel]] = TensorboardConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories", "tables", "histograms", "images"})
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, TensorboardConfig)
        self._root = config.path or storage / "tensorboard"
        root = self._root
        self._runs = ByRun(lambda run, told: Run(config, root, run, told), state)

    def write(self, records: Sequence[Record]) -> None:
        """Append `records`. A full disk raises `UnavailableError` and leaves the files as they were."""
        before: dict[str, Marks] = {}
        try:
            for record in records:
                run = self._runs[record.run]
                before.setdefault(record.run, run.mark())
                run.write(record)
        except BaseException as error:
            for name, marks in before.items():
                self._runs[name].restore(marks)
            if isinstance(error, OSError):
                cure = "Free some space or set backends.tensorboard.path"
                raise UnavailableError(f"cannot write below {self._root}: {error}. {cure}") from error
            raise
        for name in before:
            self._runs.touch(name)

    def checkpoint(self) -> dict[str, object]:
        return self._runs.checkpoint()

    def close(self) -> None:
        """Nothing is kept open."""
