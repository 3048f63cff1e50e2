"""Tests of the span processor and the exporters that an application adds to providers of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import Link, SpanKind, StatusCode

from rollscope import vocabulary as v
from rollscope.recorder import session
from rollscope.recorder.foreign import JournalLogExporter, JournalMetricExporter, JournalSpanProcessor
from rollscope.recorder.foreign.metrics import split
from rollscope.records import Otlp
from rollscope.testing import Memory


@pytest.fixture
def provider() -> TracerProvider:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(JournalSpanProcessor())
    return provider


def test_a_foreign_span_is_recorded_whole(memory: Memory, provider: TracerProvider) -> None:
    """Ids, kind, times, status, attributes, events, links and scope are those of the SDK's span; its start is there while it is open."""
    tracer = provider.get_tracer("theirs")
    with tracer.start_as_current_span("parent") as parent:
        span = tracer.start_span("GET", kind=SpanKind.CLIENT, links=[Link(parent.get_span_context())], start_time=10)
        span.set_attribute("a", (1, 2))
        span.add_event("e", {"b": 1}, timestamp=11)
        span.set_status(StatusCode.ERROR, "bad")
        assert [record.name for record in memory.started] == ["parent", "GET"]
        span.end(20)
    record = memory.span("GET")
    found = span.get_span_context()
    assert record.trace_id == found.trace_id.to_bytes(16, "big")
    assert record.span_id == found.span_id.to_bytes(8, "big")
    assert record.parent_id == memory.span("parent").span_id
    assert (record.kind, record.start, record.end, record.status, record.message) == (3, 10, 20, 2, "bad")
    assert (record.attributes, record.scope) == ({"a": [1, 2]}, "theirs")
    assert [tuple(event) for event in record.events or []] == [(11, "e", {"b": 1})]
    assert record.links is not None


def test_a_foreign_span_inside_ours_gets_its_identity_and_is_counted(memory: Memory, provider: TracerProvider) -> None:
    """It belongs to the trajectory like any other record of it."""
    with memory.recorder.start_span("trajectory", root=True, counted=True, identity={v.GROUP_ID: "g"}) as root:
        with provider.get_tracer("theirs").start_as_current_span("GET"):
            pass
        assert memory.recorder.record_count(root.trace_id) == 2
    assert memory.span("GET").attributes == {v.GROUP_ID: "g"}
    assert memory.span("GET").parent_id == root.span_id


def test_what_was_not_sampled_is_not_recorded(memory: Memory) -> None:
    """The application's sampler decides about the application's spans."""
    provider = TracerProvider(sampler=ALWAYS_OFF, shutdown_on_exit=False)
    provider.add_span_processor(JournalSpanProcessor())
    with provider.get_tracer("theirs").start_as_current_span("GET"):
        pass
    assert memory.records == []


def test_a_log_record_keeps_trace_severity_and_body(memory: Memory) -> None:
    """A structured body becomes JSON, a plain one stays text."""
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(JournalLogExporter()))
    with memory.recorder.start_span("work") as span:
        provider.get_logger("theirs").emit(LogRecord(body={"a": [1, None]}, severity_number=SeverityNumber.ERROR, attributes={"b": 1}))
        provider.get_logger("theirs").emit(LogRecord(body="plain", timestamp=7, event_name="named"))
    first, second = memory.events
    assert (first.body, first.severity, first.attributes, first.name) == ('{"a":[1,null]}', 17, {"b": 1}, "")
    assert (first.trace_id, first.span_id) == (span.trace_id, span.span_id)
    assert (second.body, second.time, second.name, second.severity) == ("plain", 7, "named", 9)


@pytest.fixture
def meters(memory: Memory) -> Iterator[MeterProvider]:
    provider = MeterProvider(
        [PeriodicExportingMetricReader(JournalMetricExporter(), export_interval_millis=3_600_000)], shutdown_on_exit=False
    )
    yield provider
    provider.shutdown()


def test_metrics_are_recorded_as_otlp(memory: Memory, meters: MeterProvider) -> None:
    """Counter and histogram, as any exporter would send them."""
    meter = meters.get_meter("theirs")
    meter.create_counter("requests", unit="1").add(3, {"kind": "a"})
    meter.create_histogram("latency").record(0.5)
    meters.force_flush()
    (record,) = [record for record in memory.records if isinstance(record, Otlp)]
    (outer,) = ExportMetricsServiceRequest.FromString(record.payload).resource_metrics
    (scope,) = outer.scope_metrics
    assert scope.scope.name == "theirs"
    assert {metric.name for metric in scope.metrics} == {"requests", "latency"}


def test_without_a_run_nothing_is_recorded_and_nothing_fails(provider: TracerProvider, memory: Memory) -> None:
    """The processors may be installed for good."""
    state = session.snapshot()
    session.use(None)
    try:
        with provider.get_tracer("theirs").start_as_current_span("GET"):
            pass
        assert JournalLogExporter().export([]) is not None
    finally:
        session.restore(state)
    assert memory.records == []


def test_flush_and_shutdown_have_nothing_to_do(provider: TracerProvider) -> None:
    """What came is in the journal."""
    assert provider.force_flush()
    provider.shutdown()
    assert JournalLogExporter().force_flush()
    assert JournalMetricExporter().force_flush()


def request_of(points: int, label: int) -> ExportMetricsServiceRequest:
    request = ExportMetricsServiceRequest()
    outer = request.resource_metrics.add()
    outer.resource.attributes.add(key="service.name").value.string_value = "s"
    for name in ("a", "b"):
        metric = outer.scope_metrics.add().metrics.add(name=name)
        for number in range(points):
            point = metric.gauge.data_points.add(as_double=number)
            point.attributes.add(key="k").value.string_value = "x" * label
    return request


@given(st.integers(1, 60), st.integers(0, 50), st.integers(300, 3000))
def test_a_large_collection_is_split_without_loss(points: int, label: int, most: int) -> None:
    """Every piece is below the limit and carries the resource; together they hold every point once."""
    found: dict[str, list[float]] = {"a": [], "b": []}
    for payload in split(request_of(points, label), most):
        assert len(payload) <= most
        for outer in ExportMetricsServiceRequest.FromString(payload).resource_metrics:
            assert outer.resource.attributes[0].value.string_value == "s"
            for scope in outer.scope_metrics:
                for metric in scope.metrics:
                    found[metric.name] += [point.as_double for point in metric.gauge.data_points]
    assert found == {"a": list(map(float, range(points))), "b": list(map(float, range(points)))}


def test_a_point_larger_than_a_record_is_dropped_by_name(lenient: Memory) -> None:
    """Its neighbours arrive."""
    request = request_of(2, 10)
    request.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0].attributes[0].value.string_value = "x" * 5000
    points = [
        point.as_double
        for payload in split(request, 1000)
        for outer in ExportMetricsServiceRequest.FromString(payload).resource_metrics
        for metric in outer.scope_metrics[0].metrics
        for point in metric.gauge.data_points
    ]
    assert sorted(points) == [0.0, 1.0, 1.0]
    assert lenient.journal.dropped == {"big_metric": 1}


def test_a_collection_of_half_a_mebibyte_is_one_record(memory: Memory, meters: MeterProvider) -> None:
    """What is below the limit of a record is not cut, cleaned or lost."""
    counter = meters.get_meter("theirs").create_counter("requests")
    for number in range(1000):
        counter.add(1, {"path": f"{number:04}" + "x" * 500})
    meters.force_flush()
    (record,) = [record for record in memory.records if isinstance(record, Otlp)]
    assert 500_000 < len(record.payload) < memory.recorder.limits.record_bytes


def test_an_in_memory_reader_beside_ours_sees_the_same(memory: Memory) -> None:
    """Ours is one reader among others."""
    other = InMemoryMetricReader()
    provider = MeterProvider([other, PeriodicExportingMetricReader(JournalMetricExporter())], shutdown_on_exit=False)
    provider.get_meter("theirs").create_counter("c").add(1)
    provider.force_flush()
    assert other.get_metrics_data() is not None
    assert any(isinstance(record, Otlp) for record in memory.records)
    provider.shutdown()
