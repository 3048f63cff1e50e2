"""Runs: when one is announced, when it ends, and to which run a program without rollscope belongs.

A run is announced by its driver's `rl.run.started`. Where other processes' records come first they wait for it a few seconds, then
the run is announced from what every resource says (run name and project), and again when the driver's word comes.

A program without rollscope has no run id. Its runs are sessions of activity of `(service.namespace, service.name)`: the first
record after a silence begins one, all processes of the service share it, and the silence ends it. The id is a digest of the
service and the time the session's first request was received.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping

import msgspec

from rollscope import vocabulary as v

from ..decode import integer
from ..ledger.states import RunState
from ..records import RunFinished, RunStarted, Span
from .outbox import Outbox
from .producers import Producers
from .readings import coordinates
from .settings import PipelineSettings

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(RunState).decode

Wanted = Callable[["list[str] | None"], Collection[str]]
"""What a run asked for (None: nothing said) → the backends it is to reach."""

_LONGEST_WAIT = 20
"""An end waits at most this many times `settings.finish`, however much news there is."""


class Runs:
    """All runs of the store."""

    def __init__(
        self, db: sqlite3.Connection, outbox: Outbox, producers: Producers, settings: PipelineSettings, wanted: Wanted, now: int
    ) -> None:
        """`now`: Unix ns."""
        self._outbox = outbox
        self._producers = producers
        self._settings = settings
        self._states: dict[str, RunState] = {run: _decode(state) for run, state in db.execute("SELECT run, state FROM runs")}
        self._services = {state.service: run for run, state in self._states.items() if state.service and state.status == "running"}
        self._wanted = wanted
        self._changed: set[str] = set()
        for run, state in self._states.items():
            # A clock that was ahead and was set back: nothing can have come later than now.
            state.started, state.seen = min(state.started, now), min(state.seen, now)
            state.ending_since = min(state.ending_since, now)
            if state.status == "running" and state.wanted != (now_wanted := list(wanted(state.backends))):
                state.wanted = now_wanted
                self._changed.add(run)

    # -- who belongs where --------------------------------------------------------------------------------------------

    def of_resource(self, resource: Mapping[str, object], now: int, *, news: bool = True) -> str:
        """Return the run of a resource, made known when it is new. `news`: whether it brings more than heartbeats."""
        run = str(resource.get(v.RUN_ID) or "")
        service = "" if run else f"{resource.get(v.SERVICE_NAMESPACE, '')}\0{resource.get(v.SERVICE_NAME, 'unknown_service')}"
        if service:
            run = self._services.get(service, "")
            if not run or now - self._states[run].seen > self._settings.service_idle:
                self._end_session(run, now)
                run = self._services[service] = f"otel-{hashlib.blake2b(f'{service}{now}'.encode(), digest_size=8).hexdigest()}"
        state = self._states.get(run)
        if state is None:
            state = self._states[run] = _new_state(run, resource, service, now)
            self._changed.add(run)
        if news:
            state.seen = max(state.seen, now)
            self._changed.add(run)
        return run

    def _end_session(self, run: str, now: int) -> None:
        state = self._states.get(run)
        if state and not state.ending and state.status == "running":
            self.end(run, RunFinished(run=run, time=state.seen, status="finished"), {}, now)

    def count_unnumbered(self, run: str, records: int = 1) -> None:
        """Count records without number that were taken."""
        self._states[run].unnumbered += records
        self._changed.add(run)

    def redacted(self, run: str, finders: Mapping[str, int]) -> None:
        """Count values that were redacted, by what found them."""
        self._changed.add(run)
        _add(self._states[run].redacted, finders)

    def repaired(self, run: str, reasons: Mapping[str, int]) -> None:
        """Count items that were changed so that they make sense."""
        _add(self._states[run].repaired, reasons)
        self._changed.add(run)

    def repeated(self, run: str, root: Span) -> None:
        """Count a trajectory that had the coordinates of another one; `root` is its root span."""
        state = self._states[run]
        state.repeated += 1
        state.repeated_first = state.repeated_first or coordinates(root)
        self._changed.add(run)

    def set_aside(self, run: str, reason: str) -> None:
        """Count a record without number that cannot be used."""
        _add(self._states[run].set_aside, {reason: 1})
        self._changed.add(run)

    # -- beginning and end --------------------------------------------------------------------------------------------

    def start(self, record: RunStarted, producer: str, sources: Mapping[str, int], *, told: bool) -> bool:
        """Announce a run by its driver's word; False when a later attempt has begun already. `told`: it said which backends it wants.

        Where a Collector's queues let the driver's last word overtake its first, the run stays at its end.
        """
        state = self._states[record.run]
        if state.announced == "told" and record.attempt < state.attempt:
            return False
        overtaken = producer in state.ending_sources
        if not overtaken:
            self._finish(record.run, state)
            state.status, state.ended = "running", None
        state.name, state.project, state.attempt, state.started = record.name, record.project, record.attempt, record.time
        state.backends = record.backends if told else None
        state.wanted = list(self._wanted(state.backends))
        state.driver, state.announced = producer, "told"
        self._outbox.announce(record, sources)
        if overtaken and state.ended:
            self._outbox.add(state.ended, {})  # what was announced again is over for its backends, too
        self._changed.add(record.run)
        return True

    def end(self, run: str, record: RunFinished, sources: Mapping[str, int], now: int, attempt: int | None = None) -> bool:
        """Let the run end once everything recorded before has gone out; False for an earlier attempt's end, or a second one.

        An end the bridge made itself (no `sources`) gives way to a told one.
        """
        state = self._states[run]
        if (attempt is not None and attempt < state.attempt) or (state.ending is not None and state.ending_sources):
            return False
        state.ending, state.ending_sources, state.ending_since = record, dict(sources), now
        self._changed.add(run)
        return True

    def lost_driver(self, run: str, producer: str, now: int) -> None:
        """Note that `producer` died; a run whose driver it was has been aborted."""
        state = self._states[run]
        if state.driver == producer and state.status == "running" and state.ending is None:
            self.end(run, RunFinished(run=run, time=now, status="aborted"), {}, now)

    # -- as time goes by ----------------------------------------------------------------------------------------------

    def tick(self, now: int, settle: Callable[[str], None]) -> None:
        """Announce runs that waited long enough, end sessions of silent services, let ends go out.

        `settle` sends what is still waiting of a run that nothing more comes of.
        """
        for run, state in list(self._states.items()):
            if not state.announced and self._cannot_wait(run, state, now):
                self._guess(run, state)
            if state.service and state.status == "running" and now - state.seen > self._settings.service_idle:
                self._end_session(run, now)
            if state.ending is not None:
                self._try_end(run, state, now, settle)

    def _cannot_wait(self, run: str, state: RunState, now: int) -> bool:
        """Nobody will announce a session; and what waits for a driver's word waits neither long nor in any amount."""
        return bool(state.service) or now - state.started >= self._settings.hold or self._outbox.holds_much(run)

    def _guess(self, run: str, state: RunState) -> None:
        state.announced, state.wanted = "guessed", list(self._wanted(None))
        guessed = RunStarted(
            run=run, name=state.name, project=state.project, attempt=state.attempt, time=state.started, resource=state.resource
        )
        self._outbox.announce(guessed, {})
        self._changed.add(run)

    def _try_end(self, run: str, state: RunState, now: int, settle: Callable[[str], None]) -> None:
        if state.ending is None or not state.announced:
            return
        known = list(self._producers.of_run(run))
        settled = bool(known) and all(producer.settled for producer in known)
        waited, grace = now - state.ending_since, self._settings.finish
        if settled or min(waited, now - state.seen) >= grace or waited >= _LONGEST_WAIT * grace:
            settle(run)
            self._finish(run, state)

    def _finish(self, run: str, state: RunState) -> None:
        if state.ending is None:
            return
        self._outbox.add(state.ending, state.ending_sources)
        state.status, state.ended, state.ending = state.ending.status, state.ending, None
        if self._services.get(state.service) == run:
            del self._services[state.service]
        self._changed.add(run)

    @property
    def waiting(self) -> int:
        """Runs whose beginning or end waits."""
        return sum(state.ending is not None or not state.announced for state in self._states.values())

    def save(self, db: sqlite3.Connection) -> None:
        """Write what changed since the last time."""
        db.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", self._rows())
        self._changed.clear()

    def _rows(self) -> Iterable[tuple[object, ...]]:
        for run in self._changed:
            s = self._states[run]
            name = s.name if s.announced else ""
            yield run, name, s.project, s.attempt, s.status, _encode(s.backends), s.started, s.seen, _encode(s)


def _add(found: dict[str, int], more: Mapping[str, int]) -> None:
    for reason, n in more.items():
        found[reason] = found.get(reason, 0) + n


def _new_state(run: str, resource: Mapping[str, object], service: str, now: int) -> RunState:
    service_name = str(resource.get(v.SERVICE_NAME, "unknown_service"))
    return RunState(
        name=str(resource.get(v.RUN_NAME) or (service_name if service else run)),
        project=str(resource.get(v.PROJECT_NAME) or service_name),
        attempt=integer(resource.get(v.RUN_ATTEMPT)) or 0,
        started=now,
        seen=now,
        service=service,
        resource=dict(resource),
    )
