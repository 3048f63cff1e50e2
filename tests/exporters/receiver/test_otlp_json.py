"""OTLP/JSON becomes the same protobuf."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope_exporters.receiver import SIGNALS
from rollscope_exporters.receiver._otlp_json import JsonError, to_protobuf

TRACES, METRICS, LOGS = SIGNALS
TRACE_ID, SPAN_ID = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def span(**fields: object) -> bytes:
    """Return a trace request with one span."""
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": TRACE_ID, "spanId": SPAN_ID, **fields}]}]}]}).encode()


def test_a_span_of_the_specification() -> None:
    """Hex ids, 64-bit integers as text or number, camelCase names, enumerations as numbers, unknown fields passed over."""
    body = span(
        parentSpanId="EEE19B7EC3C1B173",
        name="I'm a server span",
        startTimeUnixNano="1544712660000000000",
        endTimeUnixNano=1544712661000000000,
        kind=2,
        flags=1,
        brandNew={"x": [1]},
        links=[{"traceId": TRACE_ID.upper(), "spanId": SPAN_ID}],
        attributes=[{"key": "traceId", "value": {"stringValue": "not hex"}}, {"key": "n", "value": {"intValue": "9007199254740993"}}],
    )
    (found,) = ExportTraceServiceRequest.FromString(to_protobuf(TRACES, body)).resource_spans[0].scope_spans[0].spans
    assert found.trace_id.hex() == TRACE_ID
    assert found.parent_span_id.hex() == "eee19b7ec3c1b173"
    assert found.links[0].trace_id.hex() == TRACE_ID
    assert (found.start_time_unix_nano, found.end_time_unix_nano) == (1544712660000000000, 1544712661000000000)
    assert found.kind == 2
    assert found.attributes[0].value.string_value == "not hex"
    assert found.attributes[1].value.int_value == 9007199254740993


def test_logs_and_metrics() -> None:
    """Ids of log records and exemplars are hex too, bytes of values stay base64."""
    log = {"timeUnixNano": "1", "traceId": TRACE_ID, "spanId": SPAN_ID, "body": {"bytesValue": "AAEC"}, "eventName": "rl.step"}
    (found,) = (
        ExportLogsServiceRequest.FromString(
            to_protobuf(LOGS, json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": [log]}]}]}).encode())
        )
        .resource_logs[0]
        .scope_logs[0]
        .log_records
    )
    assert (found.trace_id.hex(), found.body.bytes_value, found.event_name) == (TRACE_ID, b"\0\1\2", "rl.step")
    point = {"asDouble": "NaN", "exemplars": [{"traceId": TRACE_ID, "asInt": "3"}]}
    body = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "m", "gauge": {"dataPoints": [point]}}]}]}]}
    metric = (
        ExportMetricsServiceRequest.FromString(to_protobuf(METRICS, json.dumps(body).encode()))
        .resource_metrics[0]
        .scope_metrics[0]
        .metrics[0]
    )
    assert metric.gauge.data_points[0].as_double != metric.gauge.data_points[0].as_double
    assert metric.gauge.data_points[0].exemplars[0].trace_id.hex() == TRACE_ID


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "Input data was truncated"),
        (b"[]", "ExportTraceServiceRequest"),
        (b'{"resourceSpans": 3}', "ExportTraceServiceRequest"),
        (span(traceId="xyz"), "traceId 'xyz' is not hexadecimal"),
        (span(spanId="0011"), "spanId '0011' has 2 bytes, not 8"),
        (span(startTimeUnixNano="soon"), "ExportTraceServiceRequest"),
        (b"[" * 100_000, "ExportTraceServiceRequest"),
    ],
)
def test_what_is_no_otlp_is_named(body: bytes, said: str) -> None:
    """Every kind of wrong JSON is one error with a reason."""
    with pytest.raises(JsonError, match=said):
        to_protobuf(TRACES, body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["resourceSpans", "scopeSpans", "spans", "traceId", "attributes", "key", "value", "kind"]), inner, max_size=4
        )
    ),
    max_leaves=20,
)


@given(tree=JSON)
def test_any_json_is_taken_or_named(tree: object) -> None:
    """No document raises anything else."""
    try:
        ExportTraceServiceRequest.FromString(to_protobuf(TRACES, json.dumps(tree).encode()))
    except JsonError:
        return
