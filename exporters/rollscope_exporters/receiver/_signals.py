"""The three OTLP signals: message classes, gRPC method, HTTP path."""

from __future__ import annotations

from dataclasses import dataclass

from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True, slots=True)
class Signal:
    """How one signal comes in."""

    name: str
    """As in the inbox entry."""
    request: type[Message]
    service: str
    """gRPC service; its method is `Export`."""

    @property
    def path(self) -> str:
        """Return the HTTP path."""
        return f"/v1/{self.name}"


_PACKAGE = "opentelemetry.proto.collector"
SIGNALS: tuple[Signal, ...] = (
    Signal("traces", ExportTraceServiceRequest, f"{_PACKAGE}.trace.v1.TraceService"),
    Signal("metrics", ExportMetricsServiceRequest, f"{_PACKAGE}.metrics.v1.MetricsService"),
    Signal("logs", ExportLogsServiceRequest, f"{_PACKAGE}.logs.v1.LogsService"),
)
