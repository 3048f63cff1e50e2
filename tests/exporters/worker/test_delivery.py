"""Retries, waits and splits: neighbours arrive in order whatever happens to one record."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from rollscope_exporters.backends import BusyError, RejectedError, UnavailableError
from rollscope_exporters.beats import BeatFile, read_beat
from rollscope_exporters.records import SIGNALS, Record
from rollscope_exporters.worker import Delivery, Feed, Item, PositionFile, RestartNeeded, Stopped, Worker
from rollscope_exporters.worker._delivery import TRIES_UNTIL_RESTART
from rollscope_exporters.worker._shape import Shaped
from rollscope_exporters.worker._trial import Trial

from .outbox import MemoryOutbox, line

Fault = Callable[[list[str]], None]


class NoConfig(BaseModel):
    """Nothing to set."""


class Memory:
    """A backend that keeps names in a list and lets the test raise what it likes before it writes."""

    Config: ClassVar[type[BaseModel]] = NoConfig
    accepts: ClassVar[frozenset[str]] = frozenset(SIGNALS)
    per_run: ClassVar[bool] = False

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        self.names: list[str] = []
        self.writes = self.checkpoints = 0
        self.fault: Fault = lambda names: None
        self.checkpoint_fault: Callable[[], None] = lambda: None

    def write(self, records: Sequence[Record]) -> None:
        """Keep the names, all or none."""
        self.writes += 1
        names = [getattr(record, "body", record.signal) for record in records]
        self.fault(names)
        self.names += names

    def checkpoint(self) -> dict[str, object]:
        """Count."""
        self.checkpoint_fault()
        self.checkpoints += 1
        return {"checkpoints": self.checkpoints}

    def close(self) -> None:
        """Nothing to do."""


class Rig:
    """A delivery whose waits take no time."""

    def __init__(self, folder: Path, records: Sequence[Record | bytes] = (), rows: int = 500) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.outbox = MemoryOutbox(records)
        self.backend = Memory(NoConfig(), folder, {})
        self.position = PositionFile(folder)
        self.waits: list[float] = []
        self.stop = False
        beat = BeatFile(folder / "beat.json", 1)
        self.delivery = Delivery(self.backend, self.position, beat, self._wait, 4.0)
        feed = Feed(self.outbox, frozenset(SIGNALS), None, lambda run: run != "unwanted", lambda record, size: Shaped([record]))
        self.worker = Worker(feed, self.delivery, self.position, beat, Trial(folder, None), rows=rows, bytes_=1 << 20)

    def _wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        return self.stop

    def drain(self) -> list[str]:
        """Deliver everything; return the names that arrived."""
        while self.worker.step():
            pass
        return self.backend.names

    @property
    def aside(self) -> list[int]:
        """Ids set aside."""
        return [entry.id for entry in self.position.current.set_aside]


def rejecting(*bad: str) -> Fault:
    """Return a fault that rejects batches with any of `bad`."""

    def fault(names: list[str]) -> None:
        if hit := set(bad) & set(names):
            raise RejectedError(f"no {sorted(hit)}")

    return fault


def test_a_batch_is_one_write_one_checkpoint_one_position(tmp_path: Path) -> None:
    """In order."""
    rig = Rig(tmp_path, [line(str(n)) for n in range(20)])
    assert rig.drain() == [str(n) for n in range(20)]
    assert (rig.backend.writes, rig.backend.checkpoints) == (1, 1)
    assert PositionFile(tmp_path).current.position == 20
    assert PositionFile(tmp_path).current.state == {"checkpoints": 1}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(data=st.data(), count=st.integers(1, 60), rows=st.integers(1, 70))
def test_only_the_bad_records_are_set_aside(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int, rows: int) -> None:
    """Whatever the batches and wherever the bad ones are: the others arrive once and in order, the bad ones are named."""
    bad = data.draw(st.sets(st.integers(0, count - 1)))
    rig = Rig(tmp_path_factory.mktemp("rig"), [line(str(n)) for n in range(count)], rows)
    rig.backend.fault = rejecting(*map(str, bad))
    assert rig.drain() == [str(n) for n in range(count) if n not in bad]
    assert rig.aside == [n + 1 for n in sorted(bad)]
    assert rig.position.current.position == count


def test_an_error_without_a_name_is_tried_again_then_taken_as_a_refusal(tmp_path: Path) -> None:
    """A library may raise anything; its words are kept as the reason."""
    rig = Rig(tmp_path, [line("a"), line("b"), line("c")])

    def fault(names: list[str]) -> None:
        if "b" in names:
            raise KeyError("b")

    rig.backend.fault = fault
    assert rig.drain() == ["a", "c"]
    assert rig.position.current.set_aside[0].reason == "KeyError: 'b'"
    assert rig.waits


def test_an_error_that_passes_costs_nothing(tmp_path: Path) -> None:
    """The second try succeeds, nothing is set aside."""
    rig, left = Rig(tmp_path, [line("a"), line("b")]), [2]

    def fault(names: list[str]) -> None:
        if left[0]:
            left[0] -= 1
            raise ValueError("not yet")

    rig.backend.fault = fault
    assert rig.drain() == ["a", "b"]
    assert rig.aside == []


@pytest.mark.parametrize(
    "error", [UnavailableError("server down"), ConnectionResetError(), TimeoutError(), OSError(errno.ENOSPC, "disk full"), MemoryError()]
)
def test_an_outage_waits_with_growing_pauses_and_loses_nothing(tmp_path: Path, error: Exception) -> None:
    """The position stays, the beat says why, and when it is over the batch arrives once."""
    rig, left = Rig(tmp_path, [line("a"), line("b")]), [5]
    seen: list[str] = []

    def fault(names: list[str]) -> None:
        beat = read_beat(tmp_path / "beat.json")
        seen.append(beat.state if beat else "")
        if left[0]:
            left[0] -= 1
            raise error

    rig.backend.fault = fault
    assert rig.drain() == ["a", "b"]
    assert rig.aside == []
    assert sum(rig.waits) == 0.5 + 1 + 2 + 4 + 4  # up to the longest pause


def test_an_outage_that_lasts_asks_for_a_new_process(tmp_path: Path) -> None:
    """Some libraries recover only that way; the position is where it was."""
    rig = Rig(tmp_path, [line("a")])

    def fault(names: list[str]) -> None:
        raise UnavailableError("server down")

    rig.backend.fault = fault
    with pytest.raises(RestartNeeded, match="server down"):
        rig.drain()
    assert rig.position.current.position == 0
    beat = read_beat(tmp_path / "beat.json")
    assert beat is not None
    assert (beat.state, beat.failures > 0, "server down" in beat.reason) == ("waiting", True, True)


def test_a_busy_backend_is_waited_for_in_the_same_process(tmp_path: Path) -> None:
    """What it does would begin anew in another one: however often it says so, the record waits and is then delivered."""
    rig = Rig(tmp_path, [line("a")])
    left = 5 * TRIES_UNTIL_RESTART

    def fault(names: list[str]) -> None:
        nonlocal left
        left -= 1
        if left:
            raise BusyError("a checkpoint is on its way")

    rig.backend.fault = fault
    assert rig.drain() == ["a"]


def test_a_wait_ends_when_the_worker_is_to_end(tmp_path: Path) -> None:
    """At once, with the position kept."""
    rig = Rig(tmp_path, [line("a")])
    rig.backend.fault, rig.stop = rejecting(), True

    def fault(names: list[str]) -> None:
        raise UnavailableError("server down")

    rig.backend.fault = fault
    with pytest.raises(Stopped):
        rig.drain()
    assert len(rig.waits) == 1
    assert rig.position.current.position == 0


def test_a_checkpoint_that_fails_is_repeated_alone(tmp_path: Path) -> None:
    """What was written is not written again for its sake."""
    rig, left = Rig(tmp_path, [line("a")]), [3]

    def fault() -> None:
        if left[0]:
            left[0] -= 1
            raise RuntimeError("flush failed")

    rig.backend.checkpoint_fault = fault
    assert rig.drain() == ["a"]
    assert rig.backend.writes == 1


def test_a_state_that_is_no_json_is_the_backends_fault_and_no_records(tmp_path: Path) -> None:
    """Nothing is set aside for it, and the position stays."""
    rig = Rig(tmp_path, [line("a")])
    rig.backend.checkpoint = lambda: {"at": object()}  # type: ignore[method-assign]
    with pytest.raises(RestartNeeded):
        rig.drain()
    assert (rig.aside, PositionFile(tmp_path).current.position) == ([], 0)


def test_a_row_that_is_no_record_is_set_aside(tmp_path: Path) -> None:
    """Its neighbours arrive."""
    rig = Rig(tmp_path, [line("a"), b"\xc1 no msgpack", line("c")])
    assert rig.drain() == ["a", "c"]
    assert rig.aside == [2]
    assert "cannot be decoded" in rig.position.current.set_aside[0].reason


def test_rows_of_runs_that_do_not_want_it_are_passed_over(tmp_path: Path) -> None:
    """And the position moves past them, also when nothing is left."""
    rig = Rig(tmp_path, [line("a"), line("x", "unwanted"), line("b"), line("y", "unwanted")])
    assert rig.drain() == ["a", "b"]
    assert rig.position.current.position == 4


def test_what_is_set_aside_is_named_for_people(tmp_path: Path) -> None:
    """By signal and what the record calls itself."""
    rig = Rig(tmp_path, [line("bad")])
    rig.backend.fault = rejecting("bad")
    rig.drain()
    assert rig.position.current.set_aside[0].what == "logs"
    assert Item(1, "r", "logs", line("x")).what == "logs"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(data=st.data(), count=st.integers(1, 40), rows=st.integers(1, 20))
def test_a_death_at_any_moment_repeats_one_batch_at_most(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, count: int, rows: int
) -> None:
    """A process that dies between a write and its position delivers that batch again, nothing else, and loses nothing."""
    records = [line(str(n)) for n in range(count)]
    folder = tmp_path_factory.mktemp("rig")
    arrived: list[str] = []
    deaths = data.draw(st.integers(1, 5))
    for life in range(deaths + 1):
        rig = Rig(folder, records, rows)
        steps = data.draw(st.integers(0, 4)) if life < deaths else count + 1
        for _ in range(steps):
            rig.worker.step()
        arrived += rig.backend.names
        if life < deaths:
            arrived += _die_before_the_position(folder, records, rows)
    firsts = list(dict.fromkeys(arrived))
    assert firsts == [str(n) for n in range(count)]
    assert len(arrived) - len(firsts) <= deaths * rows


def _die_before_the_position(folder: Path, records: Sequence[Record], rows: int) -> list[str]:
    """Deliver one batch and end before its position is on disk; return what arrived."""
    rig = Rig(folder, records, rows)

    def die() -> None:
        raise SystemExit

    rig.position.save = die  # type: ignore[method-assign]
    with contextlib.suppress(SystemExit):
        rig.worker.step()
    return rig.backend.names
