"""A program that knows nothing of rollscope: the OpenTelemetry SDK with its stock OTLP exporters. Arguments: protocol, endpoint."""

from __future__ import annotations

import json
import sys

from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

protocol, endpoint = sys.argv[1:]
if protocol == "grpc":
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter

    spans_out = OTLPSpanExporter(endpoint=endpoint, insecure=True)
    metrics_out = OTLPMetricExporter(endpoint=endpoint, insecure=True)
else:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    spans_out = OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")
    metrics_out = OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics")

resource = Resource.create({"service.name": f"plain-{protocol}"})
spans = TracerProvider(resource=resource)
spans.add_span_processor(BatchSpanProcessor(spans_out))
trace.set_tracer_provider(spans)
reader = PeriodicExportingMetricReader(metrics_out, export_interval_millis=3_600_000)
meters = MeterProvider(resource=resource, metric_readers=[reader])
metrics.set_meter_provider(meters)

tracer, meter = trace.get_tracer("plain"), metrics.get_meter("plain")
with tracer.start_as_current_span("work", attributes={"answer": 42}), tracer.start_as_current_span("inner") as inner:
    inner.add_event("half way")
with tracer.start_as_current_span(
    "invoke_agent helper", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"}
):
    message = [{"role": "user", "parts": [{"type": "text", "content": "How high is 泰山?"}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "1545 m 🏔"}], "finish_reason": "stop"}]
    content = {"gen_ai.input.messages": json.dumps(message), "gen_ai.output.messages": json.dumps(answer)}
    with tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", **content}):
        pass
requests, loss = meter.create_counter("requests"), meter.create_gauge("loss")
for number in range(3):
    meters.force_flush()  # exports nothing at first; the last values go out with the shutdown
    requests.add(1)
    loss.set(1.0 / (number + 1))
spans.shutdown()
meters.shutdown()
assert not any(name.partition(".")[0].startswith("rollscope") for name in sys.modules)
