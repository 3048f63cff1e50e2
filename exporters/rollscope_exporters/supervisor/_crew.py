"""All children of the bridge: the pipeline, and a worker for each backend that is wanted."""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..beats import BEAT_FILE, PIPELINE_BEAT, read_beat
from ..child import STOP_GRACE
from ..positions import WorkerState, read_workers
from ..settings import Settings, backend_class
from ..store import NoStoreError, RunRow, Store, StoreError
from ..worker import worker_folder
from ._child import Child, ChildSpec
from ._plan import Plan, plan
from ._progress import Progress, is_waiting, progress

PIPELINE = "pipeline"
_LOOK = 0.5
"""Seconds between two looks at the runs in the store."""
_PIPELINE_DEADLINE = 600.0
"""Seconds without progress after which the pipeline is taken to hang: a tokenizer may take a minute of them, and a slow disk others."""
_GRACE = STOP_GRACE + 2.0
"""Seconds a child may take to end before it is killed; it gives up by itself before that."""

log = logging.getLogger("rollscope.bridge")


class Crew:
    """Keeps the children that are wanted running; every method is called from one thread at a time."""

    def __init__(self, settings: Settings, config: Path | None, extra: Mapping[str, Sequence[str]]) -> None:
        """`extra` maps a backend to `KEY=VALUE` settings that its worker gets besides the configuration."""
        self._settings, self._extra = settings, extra
        self._config = ("--config", str(config)) if config else ()
        self._storage = ("--storage", str(settings.storage))
        self._store: Store | None = None
        self._looked = 0.0
        self._unread: list[str] = []
        self._nothing: dict[tuple[str, str], tuple[int, int]] = {}
        """(backend, run) → position of its worker, and the head up to which there was no row behind that."""
        self.problems: dict[str, str] = {}
        """Backend → why it does not run."""
        self.children: dict[str, Child] = {}
        arguments = ("-m", "rollscope_exporters.pipeline", *self._storage, *self._config)
        self._add(ChildSpec(PIPELINE, arguments, settings.storage / PIPELINE_BEAT), _PIPELINE_DEADLINE)

    def tick(self) -> None:
        """Start, restart, kill: to be called several times a second."""
        now = time.monotonic()
        if now - self._looked >= _LOOK:
            self._looked = now
            self._look()
        for child in list(self.children.values()):
            child.tick()

    def _look(self) -> None:
        """Read the store and have what it asks for; a store that cannot be read changes nothing."""
        try:
            self._follow(self._make_plan())
        except sqlite3.Error as error:
            log.error("the store cannot be read: %s", error)
            self.problems["store"] = str(error)

    def workers(self) -> list[WorkerState]:
        """Return the stored state of every worker that ever ran here."""
        unreadable: list[str] = []
        states = read_workers(self._settings.storage, unreadable)
        if unreadable != self._unread:  # it is read several times a second
            self._unread = unreadable
            for problem in unreadable:
                log.error("%s; remove it, and what the store still holds is delivered again", problem)
        return states

    def progress(self, inbox: Path) -> Progress:
        """Return what is still under way."""
        return progress(inbox, self._open(), self.workers(), [name for name in list(self.children) if name != PIPELINE])

    def is_waiting(self) -> bool:
        """Say whether the pipeline waits for more of what has come."""
        store = self._open()
        return store is not None and is_waiting(store)

    def _make_plan(self) -> Plan:
        store = self._open()
        runs: list[RunRow] = store.runs() if store else []
        head = store.head() if store else 0
        positions = {(state.backend, state.run): state.position for state in self.workers()}

        def behind(backend: str, run: str | None) -> bool:
            position = positions.get((backend, run), 0)
            if run is None or store is None:
                return position < head
            return self._has_rows(store, backend, run, position, head)

        return plan(self._settings, runs, behind, lambda backend: backend_class(backend).per_run)

    def _has_rows(self, store: Store, backend: str, run: str, position: int, head: int) -> bool:
        """Say whether rows of `run` wait behind `position`. What was looked through before is not looked through again: runs of months
        are asked about, several times a second."""
        known = self._nothing.get((backend, run))
        start = known[1] if known and known[0] == position else position
        if start < head and store.rows(start, signals=backend_class(backend).accepts, run=run, limit=1):
            return True
        self._nothing[backend, run] = position, max(start, head)
        return False

    def _follow(self, wanted: Plan) -> None:
        for backend, problem in wanted.problems.items():
            if self.problems.get(backend) != problem:
                log.error("backend %s does not run: %s", backend, problem)
        self.problems = wanted.problems
        for backend, run in wanted.workers:
            name = backend if run is None else f"{backend}/{run}"
            if name not in self.children:
                self._add(self._worker(name, backend, run), self._settings.workers.deadline)
        self._retire({backend if run is None else f"{backend}/{run}" for backend, run in wanted.workers})

    def _retire(self, wanted: set[str]) -> None:
        """Let per-run workers go whose run is over and delivered; workers of all runs stay."""
        for name, child in list(self.children.items()):
            if "/" in name and name not in wanted:
                child.end()
                if child.pid is None:
                    del self.children[name]

    def _worker(self, name: str, backend: str, run: str | None) -> ChildSpec:
        arguments = ["-m", "rollscope_exporters.worker", "--supervised", *self._storage, *self._config, "--backend", backend]
        if run is not None:
            arguments += ["--run", run]
        for assignment in self._extra.get(backend, ()):
            arguments += ["--set", assignment]
        return ChildSpec(name, tuple(arguments), worker_folder(self._settings.storage, backend, run) / BEAT_FILE)

    def _add(self, spec: ChildSpec, deadline: float) -> None:
        self.children[spec.name] = Child(spec, os.environ, deadline)

    def _open(self) -> Store | None:
        if self._store is None:
            try:
                self._store = Store.open(self._settings.storage / "store.db", read_only=True)
            except NoStoreError:
                return None
            except StoreError as error:
                self.problems["store"] = str(error)
                return None
        return self._store

    def end(self) -> None:
        """End the pipeline, then the workers; each is asked, then killed. Blocks for a bounded time."""
        self._end([child for name, child in self.children.items() if name == PIPELINE])
        self._end([child for name, child in self.children.items() if name != PIPELINE])
        if self._store:
            self._store.close()

    def kill(self) -> None:
        """End all children at once: their last words, positions among them, must not get into a store that is not theirs."""
        for child in list(self.children.values()):
            child.kill()

    def _end(self, children: Sequence[Child]) -> None:
        for child in children:
            child.end()
        until = time.monotonic() + _GRACE
        while any(child.pid for child in children):
            if time.monotonic() > until:
                for child in children:
                    child.kill()
            for child in children:
                child.tick()
            time.sleep(0.02)

    def status(self) -> list[dict[str, Any]]:
        """Describe every child, JSON-compatible."""
        return [self._describe(name, child) for name, child in sorted(list(self.children.items()))]  # noqa: C414 - copied at once, as another thread may add one

    def _describe(self, name: str, child: Child) -> dict[str, Any]:
        found: dict[str, Any] = {"name": name, "pid": child.pid, "restarts": max(child.restarts, 0)}
        found["state"] = "running" if child.pid else "pausing"
        if child.last_end:
            found["last_end"] = child.last_end
        beat = read_beat(child.spec.beat) if child.spec.beat else None
        if beat and child.pid in (beat.pid, None):
            found["position"] = beat.position
            found["state"] = beat.state if child.pid else "pausing"
            if beat.reason:
                found |= {"reason": beat.reason, "failures": beat.failures}
        return found
