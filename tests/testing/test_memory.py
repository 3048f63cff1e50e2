"""Tests of what users test their own instrumentation with."""

from __future__ import annotations

import pytest

from rollscope.identity import Run
from rollscope.launchers import Place
from rollscope.recorder import current, gate, session, swallow
from rollscope.testing import CountingIds, ManualClock, MemoryJournal, memory_recorder

pytest_plugins = ["rollscope.testing.plugin"]


def test_it_is_the_process_s_recorder_inside_and_gone_after() -> None:
    """What was there before comes back, also after an error."""
    before = session.snapshot()
    with pytest.raises(KeyError), memory_recorder() as memory:
        {}[current() is memory.recorder]
    assert session.snapshot() == before
    assert memory.journal.closed


def test_records_are_exact() -> None:
    """Counting ids and a clock that stands still make whole records comparable."""
    runs = []
    for _ in range(2):
        with memory_recorder() as memory:
            with memory.recorder.start_span("work"):
                memory.clock.advance(0.5)
            memory.recorder.event("e", {"a": 1})
            runs.append(memory.records)
    assert runs[0] == runs[1]


def test_errors_of_the_recorder_are_raised_unless_asked_otherwise() -> None:
    """A test sees what production would only count; the former setting comes back."""
    with memory_recorder():
        assert gate.strict()
        with pytest.raises(ValueError, match="ours"):
            swallow(ValueError("ours"), "x")
        with memory_recorder(strict=False) as memory:
            swallow(ValueError("ours"), "x")
            assert memory.journal.failed == {"x": 1}
        assert gate.strict()
    assert not gate.strict()


def test_records_can_be_found_by_name() -> None:
    """One of a name, or an error that says how many there were."""
    with memory_recorder() as memory:
        for name in ("a", "b", "b"):
            memory.recorder.start_span(name).end()
        assert memory.span("a").name == "a"
        with pytest.raises(AssertionError, match="found 2"):
            memory.span("b")
        with pytest.raises(AssertionError, match="found 0"):
            memory.event("a")


def test_run_place_settings_ids_and_clock_can_be_given() -> None:
    """For code that depends on its rank or on a switch."""
    with memory_recorder(
        run=Run("r", "n", "p"),
        place=Place("rollout", 3),
        ids=CountingIds(),
        clock=ManualClock(7),
        environment={"ROLLSCOPE_CAPTURE": "none"},
    ) as memory:
        assert (memory.recorder.identity.run.id, memory.recorder.identity.rank) == ("r", 3)
        assert not memory.recorder.settings.capture.text
        assert memory.recorder.now() == 7


def test_a_full_journal_can_be_tried() -> None:
    """Refused records are counted as the real journal counts them."""
    journal = MemoryJournal()
    journal.full = {1}
    assert journal.append(b"x", 1) == -1
    assert journal.append(b"x", 0) == 1
    assert journal.dropped == {"full": 1}
    journal.abandon()
    assert journal.entries == []


def test_the_fixture_is_the_same(rollscope_memory: object) -> None:
    """`rollscope_memory` for those who use pytest."""
    assert current() is rollscope_memory.recorder  # type: ignore[attr-defined]
