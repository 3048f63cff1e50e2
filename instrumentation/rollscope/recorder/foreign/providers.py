"""Becoming OpenTelemetry's global provider, so that any auto-instrumentation joins the run."""

from __future__ import annotations

from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider as SdkTracerProvider

from .. import gate, session
from ..tracer import TracerProvider
from .logs import JournalLogExporter
from .metrics import JournalMetricExporter
from .spans import JournalSpanProcessor

__all__ = ["install_global"]

_UNSET = frozenset({"ProxyTracerProvider", "ProxyLoggerProvider", "_ProxyMeterProvider"})
"""What stands where no global provider was set; two of them have no public name."""
_LAST_COLLECTION_MS = 200
_readers: list[PeriodicExportingMetricReader] = []
_joined: set[int] = set()
"""Providers that write to the journal already, by identity; a second run of the process must not add another writer."""


def install_global() -> None:
    """Install global providers where there are none; join those of the SDK that are there. Never raises.

    A tracer or meter provider that is neither ours nor the SDK's is left alone, and said so once.
    """
    with gate.guard("set_global"):
        _install_tracer()
        _install_logger()
        _install_meter()


def _install_tracer() -> None:
    provider = trace.get_tracer_provider()
    if isinstance(provider, SdkTracerProvider):
        if _new(provider):
            provider.add_span_processor(JournalSpanProcessor())
    elif _unset(provider):
        trace.set_tracer_provider(TracerProvider())
    elif not isinstance(provider, TracerProvider):
        _left_alone("tracer", provider)


def _install_logger() -> None:
    provider = _logs.get_logger_provider()
    if _unset(provider):
        # No resource of its own: the shipper puts the producer's in its place.
        _logs.set_logger_provider(LoggerProvider(Resource.get_empty(), shutdown_on_exit=False))
        provider = _logs.get_logger_provider()
    if not isinstance(provider, LoggerProvider):
        _left_alone("logger", provider)
    elif _new(provider):
        provider.add_log_record_processor(SimpleLogRecordProcessor(JournalLogExporter()))


def _install_meter() -> None:
    provider = metrics.get_meter_provider()
    if _unset(provider):
        metrics.set_meter_provider(MeterProvider(resource=Resource.get_empty(), shutdown_on_exit=False))
        provider = metrics.get_meter_provider()
    if not isinstance(provider, MeterProvider):
        _left_alone("meter", provider)
        return
    if _new(provider):
        reader = PeriodicExportingMetricReader(JournalMetricExporter())
        provider.add_metric_reader(reader)
        _readers.append(reader)
    recorder, _ = session.snapshot()
    if recorder is not None:
        recorder.on_close.append(_collect)


def _collect() -> None:
    """Collect once more before the journal closes: a program shorter than the export interval has metrics too."""
    # By the reader: a provider does not flush a reader that was added to it later.
    for reader in _readers:
        reader.force_flush(_LAST_COLLECTION_MS)


def _unset(provider: object) -> bool:
    return type(provider).__name__ in _UNSET


def _new(provider: object) -> bool:
    fresh = id(provider) not in _joined
    _joined.add(id(provider))
    return fresh


def _left_alone(kind: str, provider: object) -> None:
    gate.notice(f"foreign_{kind}_provider", f"the global {kind} provider is a {type(provider).__name__} and was left alone")
