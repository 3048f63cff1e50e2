"""Signals of programs and libraries that use the OpenTelemetry SDK, written to the same journal.

An application with providers of its own adds `JournalSpanProcessor`, `JournalLogExporter` and `JournalMetricExporter` to them;
`init(set_global=True)` calls `install_global`. Nothing here is imported before it is asked for: the SDK takes its time to load.
"""

from .logs import JournalLogExporter
from .metrics import JournalMetricExporter
from .providers import install_global
from .spans import JournalSpanProcessor

__all__ = ["JournalLogExporter", "JournalMetricExporter", "JournalSpanProcessor", "install_global"]
