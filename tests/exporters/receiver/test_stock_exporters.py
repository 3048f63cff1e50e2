"""Programs without rollscope: the stock OpenTelemetry exporters."""

from __future__ import annotations

from collections import Counter

import pytest
from opentelemetry.exporter.otlp.proto.grpc._log_exporter import OTLPLogExporter as GrpcLogs
from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter as GrpcMetrics
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcSpans
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter as HttpMetrics
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpSpans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricExporter, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter

from .served import Served


def spans_through(exporter: SpanExporter, count: int) -> None:
    """Record `count` spans with the plain SDK."""
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("plain")
    for number in range(count):
        with tracer.start_as_current_span(f"span {number}", attributes={"gen_ai.operation.name": "chat", "n": number}):
            pass
    provider.shutdown()


@pytest.mark.parametrize("transport", ["grpc", "http", "http+gzip"])
def test_spans_of_the_plain_sdk(served: Served, transport: str) -> None:
    """Each arrives once."""
    exporter: SpanExporter
    if transport == "grpc":
        exporter = GrpcSpans(endpoint=served.grpc, insecure=True)
    else:
        compression = Compression.Gzip if transport.endswith("gzip") else Compression.NoCompression
        exporter = HttpSpans(endpoint=f"{served.http}/v1/traces", compression=compression)
    spans_through(exporter, 1000)
    names = Counter(
        span.name
        for _, _, payload in served.entries()
        for resource in ExportTraceServiceRequest.FromString(payload).resource_spans
        for scope in resource.scope_spans
        for span in scope.spans
    )
    assert names == Counter(f"span {number}" for number in range(1000))


@pytest.mark.parametrize("transport", ["grpc", "http"])
def test_metrics_of_the_plain_sdk(served: Served, transport: str) -> None:
    """They are kept as metrics."""
    exporter: MetricExporter = (
        GrpcMetrics(endpoint=served.grpc, insecure=True) if transport == "grpc" else HttpMetrics(endpoint=f"{served.http}/v1/metrics")
    )
    provider = MeterProvider([PeriodicExportingMetricReader(exporter)], shutdown_on_exit=False)
    provider.get_meter("plain").create_counter("steps").add(1)
    provider.shutdown()
    assert {signal for signal, _, _ in served.entries()} == {"metrics"}


def test_the_stock_log_exporter_can_be_made(served: Served) -> None:
    """An exporter that was made against the bridge and sent nothing leaves nothing."""
    GrpcLogs(endpoint=served.grpc, insecure=True).shutdown()
    assert served.entries() == []
