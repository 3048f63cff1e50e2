"""Log lines of the program, recorded with the trace they belong to."""

from __future__ import annotations

import logging
import threading
from typing import Any

from .. import vocabulary as v
from ..interruption import pass_on
from . import gate, session
from .failures import message_of, type_name
from .span import current_span

__all__ = ["LogHandler"]

_SEVERITY = ((50, 21), (40, 17), (30, 13), (20, 9), (10, 5), (0, 1))
"""Python level → OTLP severity number."""
_OWN = ("rollscope", "opentelemetry")
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class LogHandler(logging.Handler):
    """A `logging.Handler` that records each line with logger, place and the ids of the current span.

    Lines of rollscope and of OpenTelemetry themselves are not recorded, nor is a line logged while another one is being recorded
    on the same thread: recording must not feed itself. `extra` fields become attributes.
    """

    def __init__(self, level: int = logging.INFO) -> None:
        super().__init__(level)
        self._busy = threading.local()

    def createLock(self) -> None:
        """Use no lock: the journal has its own, and a lock held here is a deadlock in a signal handler or a forked child."""
        self.lock = None

    def handle(self, record: logging.LogRecord) -> bool:
        """Filter and emit without the lock that the base class takes, which from Python 3.13 on it takes unasked."""
        passed = self.filter(record)
        if passed:
            # From 3.12 on a filter may put another record in its place.
            self.emit(passed if isinstance(passed, logging.LogRecord) else record)
        return bool(passed)

    def emit(self, record: logging.LogRecord) -> None:
        """Record one line."""
        if record.name.partition(".")[0] in _OWN or getattr(self._busy, "on", False):
            return
        recorder = session.current()
        if recorder is None:
            return
        self._busy.on = True
        try:
            with gate.guard("log_line"):
                span = current_span()
                recorder.event(
                    v.EVENT_LOG,
                    self._attributes(record, recorder.limits.stack_length),
                    body=self._message(record),
                    severity=next(number for level, number in _SEVERITY if record.levelno >= level),
                    time=round(record.created * 1e9),
                    trace_id=span.trace_id if span else None,
                    span_id=span.span_id if span else None,
                    scope=record.name,
                )
        finally:
            self._busy.on = False

    def _message(self, record: logging.LogRecord) -> str:
        if self.formatter is not None:
            return self.format(record)
        try:
            return record.getMessage()
        except Exception as error:  # noqa: BLE001  # a wrong format string is the program's mistake, its line is still worth having
            pass_on(error)
            return f"{record.msg} ({type(error).__name__} in its arguments)"

    def _attributes(self, record: logging.LogRecord, stack_length: int) -> dict[str, Any]:
        attributes: dict[str, Any] = {
            v.LOGGER_NAME: record.name,
            v.CODE_FILE_PATH: record.pathname,
            v.CODE_LINE_NUMBER: record.lineno,
            v.CODE_FUNCTION_NAME: record.funcName,
            v.THREAD_NAME: record.threadName,
        }
        attributes.update((name, value) for name, value in vars(record).items() if name not in _STANDARD)
        if record.exc_info and record.exc_info[1] is not None:
            error = record.exc_info[1]
            attributes |= {v.EXCEPTION_TYPE: type_name(type(error)), v.EXCEPTION_MESSAGE: message_of(error)}
            attributes[v.EXCEPTION_STACKTRACE] = logging.Formatter().formatException(record.exc_info)[-stack_length:]
        return attributes
