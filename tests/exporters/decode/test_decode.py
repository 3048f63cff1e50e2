"""OTLP → groups: every kind of value, repaired and rejected items, all kinds of metrics."""

from __future__ import annotations

import contextlib
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.metrics.v1.metrics_pb2 import ScopeMetrics, SummaryDataPoint

from rollscope import vocabulary as v
from rollscope_exporters.decode import SIGNALS, Group, UndecodableError, decode, integer

from ..foreign import any_value, key_values, resource, span_request

scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(allow_nan=False), st.text(), st.binary(max_size=20)
)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(), inner, max_size=4)),
    max_leaves=8,
)


def one_span(**attributes: object) -> ExportTraceServiceRequest:
    """A request of one span."""
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add(resource=resource("s")).scope_spans.add().spans.add()
    span.trace_id, span.span_id, span.name = b"t" * 16, b"s" * 8, "work"
    span.attributes.extend(key_values(attributes))
    return request


def of(signal: str, request: object) -> Group:
    """The one group of a request."""
    (group,) = decode(signal, request.SerializeToString())  # type: ignore[attr-defined]
    return group


@settings(deadline=None)
@given(st.dictionaries(st.text(min_size=1), values, max_size=6))
def test_attributes_come_back_as_they_were(attributes: dict[str, object]) -> None:
    """Every value that OTLP can carry, nested ones and zeros too."""
    request = one_span()
    request.resource_spans[0].scope_spans[0].spans[0].attributes.extend(key_values(attributes))
    (_, span), *_ = of("traces", request).spans
    assert span.attributes == attributes
    assert [type(value) for value in span.attributes.values()] == [type(value) for value in attributes.values()]


def test_a_nan_stays() -> None:
    """NaN is a value."""
    (_, span), *_ = of("traces", one_span(x=math.nan)).spans
    assert math.isnan(span.attributes["x"])  # type: ignore[arg-type]


def test_a_span_with_everything() -> None:
    """Ids in hex, times, status, events, links, scope."""
    request = one_span()
    scope = request.resource_spans[0].scope_spans[0]
    scope.scope.name = "lib"
    span = scope.spans[0]
    span.parent_span_id, span.kind, span.start_time_unix_nano, span.end_time_unix_nano = b"p" * 8, 3, 5, 9
    span.status.code, span.status.message = 2, "broken"
    span.events.add(time_unix_nano=7, name="half").attributes.extend(key_values({"n": 1}))
    span.links.add(trace_id=b"l" * 16, span_id=b"k" * 8).attributes.extend(key_values({"m": 2}))
    group = of("traces", request)
    ((number, found),) = group.spans
    assert number == 0
    assert (found.trace_id, found.span_id, found.parent_id) == ("74" * 16, "73" * 8, "70" * 8)
    assert (found.kind, found.start, found.end, found.status, found.message, found.scope) == (3, 5, 9, 2, "broken", "lib")
    assert found.events == [(7, "half", {"n": 1})]
    assert found.links == [("6c" * 16, "6b" * 8, {"m": 2})]
    assert group.resource == {"service.name": "s"}
    assert found.resource == {}


def test_the_number_is_no_attribute() -> None:
    """`rl.producer.sequence` numbers the record and is not among its attributes."""
    ((number, span),) = of("traces", one_span(**{v.PRODUCER_SEQUENCE: 7, "a": 1})).spans
    assert (number, span.attributes) == (7, {"a": 1})


@pytest.mark.parametrize("number", [1, 127, 128, 1 << 40, (1 << 63) - 1])
@pytest.mark.parametrize("last", [True, False])
def test_numbers_of_any_size_in_any_place(number: int, last: bool) -> None:
    """The number stands at the end, as the shipper writes it, or where somebody on the way has moved it."""
    attributes: dict[str, object] = {"a": 1, v.PRODUCER_SEQUENCE: number} if last else {v.PRODUCER_SEQUENCE: number, "a": 1}
    ((found, span),) = of("traces", one_span(**attributes)).spans
    assert (found, span.attributes) == (number, {"a": 1})


def test_what_can_change_is_nobody_elses() -> None:
    """Attributes that were read before are not read again, but lists and maps belong to one span each."""
    first, second = (of("traces", one_span(a=["x"], b={"c": 1}, d="same")).spans[0][1].attributes for _ in range(2))
    assert first == second == {"a": ["x"], "b": {"c": 1}, "d": "same"}
    assert first["a"] is not second["a"]
    assert first["b"] is not second["b"]


def test_text_that_is_no_utf8() -> None:
    """An attribute that is no valid text makes the request unreadable, as it does for every other reader of protobuf."""
    data = one_span(a="zzzz").SerializeToString().replace(b"zzzz", b"zz\xff\xff")
    with pytest.raises(UndecodableError, match="ExportTraceServiceRequest"):
        decode("traces", data)


@pytest.mark.parametrize("number", [-1, 0, "7", 1.5])
def test_what_is_no_number_does_not_number(number: object) -> None:
    """Only a positive whole number counts."""
    assert of("traces", one_span(**{v.PRODUCER_SEQUENCE: number})).spans[0][0] == 0


def test_a_span_that_ends_before_it_starts() -> None:
    """Clocks go wrong: the end is set to the start, and counted."""
    request = one_span()
    span = request.resource_spans[0].scope_spans[0].spans[0]
    span.start_time_unix_nano, span.end_time_unix_nano = 9, 5
    group = of("traces", request)
    assert (group.spans[0][1].start, group.spans[0][1].end) == (9, 9)
    assert group.repaired == {"span with its end before its start": 1}


@pytest.mark.parametrize(
    ("trace_id", "span_id"),
    [(b"", b"s" * 8), (b"t" * 16, b""), (b"t" * 15, b"s" * 8), (bytes(16), b"s" * 8), (b"t" * 16, bytes(8))],
)
def test_a_span_without_ids_is_rejected(trace_id: bytes, span_id: bytes) -> None:
    """It cannot be told from any other; its neighbours stay."""
    request = one_span()
    request.resource_spans[0].scope_spans[0].spans.add(trace_id=trace_id, span_id=span_id)
    group = of("traces", request)
    assert len(group.spans) == 1
    assert group.invalid == {"span without trace id or span id": 1}


@given(st.lists(st.tuples(st.sampled_from([b"", bytes(16), b"t" * 15, b"t" * 16, b"u" * 16]), st.sampled_from([bytes(8), b"s" * 8]))))
def test_every_span_is_of_its_own_trace(ids: list[tuple[bytes, bytes]]) -> None:
    """A span gets its own trace id, whatever span came before it."""
    request = one_span()
    for trace_id, span_id in ids:
        request.resource_spans[0].scope_spans[0].spans.add(trace_id=trace_id, span_id=span_id)
    usable = [(trace_id.hex(), span_id.hex()) for trace_id, span_id in ids if trace_id in (b"t" * 16, b"u" * 16) and any(span_id)]
    group = of("traces", request)
    assert [(span.trace_id, span.span_id) for _, span in group.spans[1:]] == usable
    assert sum(group.invalid.values()) == len(ids) - len(usable)


def test_derived_gauges_are_left_alone() -> None:
    """Gauges that repeat a record's scalars for Prometheus do not come twice."""
    request = ExportMetricsServiceRequest()
    scope = request.resource_metrics.add(resource=resource("s")).scope_metrics.add()
    scope.scope.name = "rollscope.derived"
    scope.metrics.add(name="rl.step.scalar").gauge.data_points.add(as_double=1.0)
    assert decode("metrics", request.SerializeToString()) == []


def metrics(scope: ScopeMetrics) -> Group:
    """The group of one scope."""
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add(resource=resource("s")).scope_metrics.append(scope)
    return of("metrics", request)


def test_gauges_and_sums() -> None:
    """Numbers keep their kind."""
    scope = ScopeMetrics()
    scope.metrics.add(name="loss").gauge.data_points.add(time_unix_nano=5, as_double=0.5)
    scope.metrics.add(name="count").sum.data_points.add(time_unix_nano=6, as_int=3)
    points = metrics(scope).points
    assert [(p.name, p.time, p.values) for p in points] == [("loss", 5, {"": 0.5}), ("count", 6, {"": 3})]


def test_histograms_and_summaries() -> None:
    """A distribution comes to count, sum, extremes, mean and quantiles, as far as it has them."""
    scope = ScopeMetrics()
    scope.metrics.add(name="h").histogram.data_points.add(count=4, sum=10.0, min=1.0, max=5.0)
    scope.metrics.add(name="e").exponential_histogram.data_points.add(count=2, sum=3.0)
    scope.metrics.add(name="empty").histogram.data_points.add(count=0)
    scope.metrics.add(name="s").summary.data_points.add(
        count=2, sum=3.0, quantile_values=[SummaryDataPoint.ValueAtQuantile(quantile=0.99, value=2.5)]
    )
    assert [p.values for p in metrics(scope).points] == [
        {"count": 4, "sum": 10.0, "min": 1.0, "max": 5.0, "avg": 2.5},
        {"count": 2, "sum": 3.0, "avg": 1.5},
        {"count": 0},
        {"count": 2, "sum": 3.0, "avg": 1.5, "p99": 2.5},
    ]


def test_a_point_without_value_is_none() -> None:
    """The flag "no recorded value" is taken at its word."""
    scope = ScopeMetrics()
    scope.metrics.add(name="loss").gauge.data_points.add(flags=1)
    request = ExportMetricsServiceRequest()
    request.resource_metrics.add(resource=resource("s")).scope_metrics.append(scope)
    assert decode("metrics", request.SerializeToString()) == []


def test_metrics_out_of_a_journal_are_numbered() -> None:
    """The number of a journalled metrics request is its scopes' attribute; it counts once."""
    request = ExportMetricsServiceRequest()
    group = request.resource_metrics.add(resource=resource("s"))
    for name in ("a", "b"):
        scope = group.scope_metrics.add()
        scope.scope.name = name
        scope.scope.attributes.extend(key_values({v.PRODUCER_SEQUENCE: 9}))
        scope.metrics.add(name=name).gauge.data_points.add(as_double=1.0)
    found = of("metrics", request)
    assert (found.numbers, [p.name for p in found.points]) == ([9], ["a", "b"])


@pytest.mark.parametrize(
    ("body", "expected"), [(None, ""), ("text", "text"), (5, "5"), ({"a": [1]}, '{"a":[1]}'), (False, "false"), ("", "")]
)
def test_bodies_of_logs(body: object, expected: str) -> None:
    """A body is text; a structured one is its JSON."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add(resource=resource("s")).scope_logs.add().log_records.add(observed_time_unix_nano=4)
    record.body.CopyFrom(any_value(body))
    (log,) = of("logs", request).logs
    assert (log.body, log.time) == (expected, 4)


@pytest.mark.parametrize("legacy", [True, False])
def test_the_name_of_an_event(legacy: bool) -> None:
    """The field, or the attribute that came before it."""
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add(resource=resource("s")).scope_logs.add().log_records.add(time_unix_nano=4)
    if legacy:
        record.attributes.extend(key_values({"event.name": "app.start", "a": 1}))
    else:
        record.event_name = "app.start"
        record.attributes.extend(key_values({"a": 1}))
    (log,) = of("logs", request).logs
    assert (log.name, log.attributes) == ("app.start", {"a": 1})


@pytest.mark.parametrize("signal", [*SIGNALS, "pictures"])
def test_garbage(signal: str) -> None:
    """Bytes that are no request of their signal, and signals that are none, are refused by name."""
    with pytest.raises(UndecodableError, match=r"not an Export|unknown signal 'pictures'"):
        decode(signal, b"\xff\xff\xff")


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(0, 300), st.sampled_from(SIGNALS))
def test_whatever_comes_only_one_error_leaves(noise: bytes, cut: int, signal: str) -> None:
    """Damaged requests decode or raise `UndecodableError`, nothing else."""
    _, whole = span_request("s", [("a", None), ("b", "a")], attributes={"a": {"x": [1, {"y": b"z"}]}})
    for data in (noise, whole[:cut], whole[:cut] + noise, noise + whole):
        with contextlib.suppress(UndecodableError):
            decode(signal, data)


@pytest.mark.parametrize(("value", "found"), [(3, 3), (0, 0), (True, None), (2.0, None), ("3", None), (None, None)])
def test_a_bool_is_no_integer(value: object, found: int | None) -> None:
    """Programs send `true` as a step: what counts takes it for none, and the trajectory it stands in is whole."""
    assert integer(value) is found if found is None else integer(value) == found
