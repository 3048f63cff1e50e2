"""One record's redaction ends, whatever the pattern or the function."""

from __future__ import annotations

import signal
import threading
import time

import pytest

from rollscope.redact import Deadline, Redactor, TooLong, Withheld
from rollscope.settings import Redaction


def test_a_pattern_that_would_run_for_years_is_ended() -> None:
    """The record is withheld, the next ones are redacted as ever."""
    redactor = Redactor(Redaction(patterns=(r"(a+)+$", "secret")))
    with pytest.raises(Withheld, match="took too long"):
        redactor.whole(lambda: redactor.text("body", "a" * 60 + "b"))
    assert redactor.whole(lambda: redactor.text("body", "a secret")) == "a [redacted]"


def test_a_function_that_hangs_is_ended() -> None:
    """One that catches all exceptions too."""
    redactor = Redactor(Redaction(function="tests.redact.functions:hang"))
    with pytest.raises(Withheld, match="took too long"):
        redactor.whole(lambda: redactor.text("body", "x"))


def test_what_stalls_again_gets_less_time() -> None:
    """Half of it each time, to a fiftieth of a second; what is in time earns it back."""
    deadline = Deadline()
    given = []
    for _ in range(8):
        given.append(deadline.seconds)
        with pytest.raises(TooLong), deadline:
            time.sleep(5)
    assert given == [1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.02, 0.02]
    for _ in range(100):
        with deadline:
            pass
    assert deadline.seconds == 1.0


def test_it_leaves_no_alarm_and_no_handler_behind() -> None:
    """Whether the time was up or not."""
    before = signal.getsignal(signal.SIGALRM)
    deadline = Deadline()
    deadline.seconds = 0.05
    with pytest.raises(TooLong), deadline:
        time.sleep(5)
    with deadline:
        pass
    assert signal.getsignal(signal.SIGALRM) == before
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_there_is_no_bound_and_no_fault() -> None:
    """Python hands signals to the main thread only."""
    found: list[str] = []
    redactor = Redactor(Redaction(patterns=("secret",)))
    thread = threading.Thread(target=lambda: found.append(redactor.whole(lambda: redactor.text("body", "secret"))))
    thread.start()
    thread.join()
    assert found == ["[redacted]"]
