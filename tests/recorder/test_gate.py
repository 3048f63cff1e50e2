"""Tests of the gate between our mistakes and a training run."""

from __future__ import annotations

import logging

import pytest

from rollscope.recorder import gate, guard, guarded, report, swallow
from rollscope.testing import Memory


def fail() -> None:
    raise ValueError("ours")


def test_an_error_is_counted_by_name_and_logged_once(lenient: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """The program goes on; the journal's counters and one log line tell."""
    for _ in range(3):
        with guard("table"):
            fail()
    assert lenient.journal.failed == {"table": 3}
    assert gate.counted() == {"table": 3}
    (line,) = caplog.records
    assert "ValueError: ours" in line.getMessage()
    assert line.exc_info is not None


def test_a_guarded_function_returns_none_on_error(lenient: Memory) -> None:
    """The decorator keeps name and value of the function."""

    @guarded("double")
    def double(number: int) -> int:
        return 2 * number if number else 1 // number

    assert double(2) == 4
    assert double(0) is None
    assert double.__name__ == "double"
    assert lenient.journal.failed == {"double": 1}


def test_tests_see_every_error(memory: Memory) -> None:
    """Under the memory recorder the gate raises."""
    with pytest.raises(ValueError, match="ours"), guard("x"):
        fail()
    with pytest.raises(ValueError, match="ours"):
        guarded("x")(fail)()
    with pytest.raises(ValueError, match="ours"):
        swallow(ValueError("ours"), "x")


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_no_error_passes(lenient: Memory, kind: type[BaseException]) -> None:
    """Interrupts are not ours to keep."""
    with pytest.raises(kind), guard("x"):
        raise kind


def test_a_log_handler_that_reports_again_does_not_loop(lenient: Memory) -> None:
    """A second report from within the first one's log line is counted, not logged."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            report("dropped", "inner", "again")

    handler = Handler()
    gate.logger.addHandler(handler)
    try:
        report("dropped", "outer", "first")
    finally:
        gate.logger.removeHandler(handler)
    assert lenient.journal.dropped == {"outer": 1, "inner": 1}


def test_a_log_handler_that_raises_is_none_of_the_caller_s_business(lenient: Memory) -> None:
    """Programs make errors of warnings; a report is counted all the same, and nothing leaves the call that had to make it."""

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            raise RuntimeError("no warnings here")

    handler = Handler()
    gate.logger.addHandler(handler)
    try:
        report("dropped", "full", "a first time")
        gate.notice("hint", "by the way")
    finally:
        gate.logger.removeHandler(handler)
    assert lenient.journal.dropped == {"full": 1}
    assert gate.counted() == {"full": 1, "hint": 1}


def test_a_notice_stays_out_of_the_run_s_counters(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    """What loses nothing is no loss."""
    gate.notice("hint", "by the way")
    gate.notice("hint", "by the way")
    assert not memory.journal.dropped
    assert gate.counted() == {"hint": 2}
    assert len(caplog.records) == 1


def test_a_call_that_fails_is_no_lost_record(lenient: Memory) -> None:
    """What a call was given wrong is counted apart from records that were refused or broken on their way."""
    swallow(ValueError("no map"), "log")
    swallow(OSError("disk"), "record", "dropped")
    assert lenient.journal.failed == {"log": 1}
    assert lenient.journal.dropped == {"record": 1}
