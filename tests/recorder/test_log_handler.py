"""Tests of recording the program's log lines."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from rollscope import vocabulary as v
from rollscope.recorder import LogHandler, gate
from rollscope.testing import Memory


@pytest.fixture
def log(memory: Memory) -> Iterator[logging.Logger]:
    logger = logging.getLogger("app.rollout")
    handler = LogHandler()
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    yield logger
    logger.removeHandler(handler)
    logger.setLevel(logging.NOTSET)


def test_a_line_carries_logger_place_and_trace(memory: Memory, log: logging.Logger) -> None:
    """Body, severity, where it was logged, and the span it was logged in; `extra` fields become attributes."""
    with memory.recorder.start_span("work") as span:
        log.warning("slow by %d ms", 7, extra={"tool": "search"})
    event = memory.event(v.EVENT_LOG)
    assert (event.body, event.severity, event.scope) == ("slow by 7 ms", 13, "app.rollout")
    assert (event.trace_id, event.span_id) == (span.trace_id, span.span_id)
    assert event.attributes["logger"] == "app.rollout"
    assert event.attributes["tool"] == "search"
    assert str(event.attributes["code.file.path"]).endswith("test_log_handler.py")


def test_a_line_outside_a_span_has_no_trace(memory: Memory, log: logging.Logger) -> None:
    """Nothing is invented; levels below the handler's are left out."""
    log.debug("too fine")
    log.error("plain")
    event = memory.event(v.EVENT_LOG)
    assert (event.trace_id, event.span_id, event.severity) == (None, None, 17)


def test_an_exception_comes_with_its_stack(memory: Memory, log: logging.Logger) -> None:
    """`log.exception` records type, message and stack."""
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("it broke")
    attributes = memory.event(v.EVENT_LOG).attributes
    assert attributes[v.EXCEPTION_TYPE] == "ValueError"
    assert "ValueError: broken" in str(attributes[v.EXCEPTION_STACKTRACE])


def test_a_wrong_format_string_still_gives_a_line(memory: Memory, log: logging.Logger, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program's mistake does not cost its line."""
    monkeypatch.setattr(logging, "raiseExceptions", False)
    log.warning("%d items", "many")
    assert str(memory.event(v.EVENT_LOG).body).startswith("%d items (TypeError")


def test_a_formatter_is_used(memory: Memory, log: logging.Logger) -> None:
    """The body is what the program formats."""
    log.handlers[0].setFormatter(logging.Formatter("<%(message)s>"))
    log.info("x")
    assert memory.event(v.EVENT_LOG).body == "<x>"


def test_recording_does_not_feed_itself(lenient: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Our own warnings and those of OpenTelemetry are not recorded, nor lines logged while one is being recorded."""

    class Chatty:
        def __str__(self) -> str:
            logging.getLogger("app").warning("inner")
            return "outer"

    loggers = [logging.getLogger(name) for name in ("rollscope", "opentelemetry.sdk", "app")]
    handler = LogHandler()
    for logger in loggers:
        logger.addHandler(handler)
    monkeypatch.setattr(loggers[2], "propagate", False)  # pytest's own handlers would format the line before ours does
    try:
        gate.report("dropped", "something", "a warning of ours")
        loggers[1].warning("theirs")
        loggers[2].warning("%s", Chatty())
    finally:
        for logger in loggers:
            logger.removeHandler(handler)
    assert [event.body for event in lenient.events] == ["outer"]


def test_a_message_that_fails_is_counted(lenient: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of ours reaches `logging`'s own error output."""
    monkeypatch.setattr(lenient.recorder, "event", None)
    LogHandler().emit(logging.makeLogRecord({"name": "app", "msg": "x"}))
    assert lenient.journal.failed == {"log_line": 1}
