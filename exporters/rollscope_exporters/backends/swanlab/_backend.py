"""Chooses the mode and drives the run of this process, with a thread that sees to what is due while nothing comes."""

from __future__ import annotations

import importlib.util
import logging
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import swanlab as _installed  # noqa: F401 - says at once what is missing
from pydantic import BaseModel

from ...records import Record
from .._protocol import UnavailableError
from ._config import SwanlabConfig
from ._run import Run
from ._server import Server

_TICK = 1.0
log = logging.getLogger("rollscope.swanlab")


class SwanlabBackend:
    """Writes to SwanLab; histograms become lines of their quantiles, what hosts measure goes into its system view. Spans, artifacts and log
    lines are not sent: it has no place for them, or none that is worth it."""

    Config: ClassVar[type[BaseModel]] = SwanlabConfig
    accepts: ClassVar[frozenset[str]] = frozenset({"runs", "metrics", "trajectories", "tables", "histograms", "images"})
    per_run: ClassVar[bool] = True

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        assert isinstance(config, SwanlabConfig)
        self._config = config
        self._mode = chosen_mode(config)
        self._root = config.dir or storage / "swanlog"
        self._state: dict[str, Any] = dict(state)
        self._run: Run | None = None
        self._run_id: str = str(state.get("run", ""))
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._ticker: threading.Thread | None = None
        if self._run_id:
            self._begin(self._run_id)

    def write(self, records: Sequence[Record]) -> None:
        with self._lock:
            if not records:
                return
            others = {record.run for record in records} - {self._run_id or records[0].run}
            if others:
                raise ValueError(f"a process serves one run, {self._run_id}, and not {', '.join(sorted(others))} too")
            run = self._run or self._begin(records[0].run)
            try:
                run.write(records, time.monotonic())
            except OSError as error:
                raise UnavailableError(f"SwanLab: {error}") from error

    def checkpoint(self) -> dict[str, object]:
        with self._lock:
            if self._run is None:
                return dict(self._state)
            self._state = {"run": self._run_id, "mode": self._mode, "state": self._run.checkpoint()}
            left_out = {reason: {self._run_id: number} for reason, number in self._run.left_out.items()}
            return {**self._state, "left_out": left_out}

    def close(self) -> None:
        self._closing.set()
        with self._lock:
            if self._run:
                self._run.close()
                self._run = None
        if self._ticker:
            self._ticker.join()

    def _begin(self, run: str) -> Run:
        self._run_id = run
        self._run = Run(self._config, self._mode, self._root, run, self._state.get("state", {}), time.monotonic())
        self._ticker = threading.Thread(target=self._tick, name="swanlab-tick", daemon=True)
        self._ticker.start()
        return self._run

    def _tick(self) -> None:
        while not self._closing.wait(_TICK):
            with self._lock:
                if self._run is None:
                    return
                try:
                    self._run.tick(time.monotonic())
                except (UnavailableError, OSError) as error:
                    log.warning("SwanLab does not take what was held for it; it is tried again: %s", error)


def chosen_mode(config: SwanlabConfig) -> str:
    """What `auto` comes to."""
    if config.mode != "auto":
        return config.mode
    said = os.environ.get("SWANLAB_MODE", "")
    if said in ("local", "offline", "sync", "cloud", "online"):
        return "cloud" if said == "online" else said
    if Server.of(config).api_key:
        return "sync"
    return "local" if importlib.util.find_spec("swanboard") else "offline"
