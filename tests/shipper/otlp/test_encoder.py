"""Journal records become the OTLP that docs/architecture.md §3 promises."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from rollscope import vocabulary as v
from rollscope.messages import load_json, parts_to_openai
from rollscope.records import Event, Otlp, Record
from rollscope.shipper.otlp import EncodeError, Encoder, Item, OpenSpan, assemble, size_of
from rollscope.shipper.otlp.item import RECORD_CAP, REQUEST_CAP
from rollscope.tokens import Decoded, Undecoded, pack_ids

from ..peers import REQUESTS, value, values
from ..producers import NOW, resource, span_end, span_start, step_metrics, tokens

PRODUCER = "aaaaaaaaaaaaaaaa"


class Spelled:
    """Text of ids that are code points."""

    def decode(self, tokenizer: str | None, lead: list[int], ids: list[int]) -> Decoded | Undecoded:
        """One character an id."""
        return Decoded("".join(map(chr, ids)), list(range(1, len(ids) + 1)), b"\xf0" if tokenizer == "cut" else b"")


def encoder(*, derive: bool = False) -> Encoder:
    """The encoder of a test producer."""
    return Encoder(resource(PRODUCER), Spelled(), derive=derive)


def sent(record: Record, sequence: int = 7, **options: Any) -> list[Any]:
    """Requests that the items of `record` make, one each."""
    return [REQUESTS[item.signal].FromString(assemble([item])) for item in encoder(**options).encode(record, sequence)]


def sent_span(record: Any, sequence: int = 7) -> Any:
    """The only span of the only request."""
    ((request),) = sent(record, sequence)
    (group,) = request.resource_spans
    assert values(group.resource.attributes) == resource(PRODUCER)
    (scope,) = group.scope_spans
    assert scope.scope.name == record.scope
    assert scope.schema_url == group.schema_url == "https://opentelemetry.io/schemas/1.41.0"
    return scope.spans[0]


def sent_log(record: Any, sequence: int = 7) -> Any:
    """The only log record of the only request."""
    ((request),) = sent(record, sequence)
    return request.resource_logs[0].scope_logs[0].log_records[0]


def test_a_span_is_sent_whole() -> None:
    """Every field of a `SpanEnd` arrives, with its number."""
    record = span_end(
        parent_id=b"p" * 8,
        kind=3,
        status=2,
        message="it broke",
        attributes={"s": "你", "b": True, "i": -5, "f": 0.5, "y": b"\x00\xff", "l": [1, "a", [None]], "m": {"k": {"n": 1.0}}, "n": None},
        events=[(NOW + 1, "exception", {"exception.type": "ValueError"})],
        links=[(b"l" * 16, b"m" * 8, {"to": "step"})],
        scope="mine",
        trace_state="a=b",
        dropped_attributes=3,
    )
    span = sent_span(record)
    assert (span.trace_id, span.span_id, span.parent_span_id) == (record.trace_id, record.span_id, b"p" * 8)
    assert (span.name, span.kind, span.start_time_unix_nano, span.end_time_unix_nano) == ("chat m", 3, NOW, NOW + 10)
    assert (span.status.code, span.status.message, span.trace_state, span.dropped_attributes_count) == (2, "it broke", "a=b", 3)
    assert values(span.attributes) == {**record.attributes, "rl.producer.sequence": 7}
    assert [(e.time_unix_nano, e.name, values(e.attributes)) for e in span.events] == record.events
    assert [(e.trace_id, e.span_id, values(e.attributes)) for e in span.links] == record.links


def test_messages_become_genai_parts() -> None:
    """Recorded OpenAI messages leave as GenAI messages that lead back to them, with the finish reason."""
    conversation = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c", "content": "7"}]
    answer = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{ }"}}],
    }
    found = values(
        sent_span(
            span_end(
                attributes={
                    "rl.messages.input": json.dumps(conversation),
                    "rl.messages.output": json.dumps(answer),
                    "gen_ai.response.finish_reasons": ["tool_calls"],
                }
            )
        ).attributes
    )
    assert "rl.messages.input" not in found
    assert "rl.messages.output" not in found
    assert parts_to_openai(load_json(found["gen_ai.input.messages"])) == conversation
    assert parts_to_openai(load_json(found["gen_ai.output.messages"])) == [answer]
    assert json.loads(found["gen_ai.output.messages"])[0]["finish_reason"] == "tool_call"


def test_messages_that_are_no_json_stay() -> None:
    """Text that cannot be read as messages is not lost: it stays under its own name."""
    assert values(sent_span(span_end(attributes={"rl.messages.input": "[{"})).attributes)["rl.messages.input"] == "[{"


def test_an_open_span_of_a_dead_process_is_closed_as_aborted() -> None:
    """It ends when the process was seen last, never before it began, with error status and without a number."""
    start = span_start(attributes={"rl.step.index": 3}, links=[(b"l" * 16, b"m" * 8, {})])
    for seen, end in ((NOW + 99, NOW + 99), (0, NOW)):
        item = encoder().aborted(start, seen)
        span = REQUESTS["traces"].FromString(assemble([item])).resource_spans[0].scope_spans[0].spans[0]
        assert (span.name, span.start_time_unix_nano, span.end_time_unix_nano, span.status.code) == ("rollout", NOW, end, 2)
        assert values(span.attributes) == {"rl.step.index": 3, "rl.aborted": True}
        assert len(span.links) == 1


def test_an_event_is_a_log_record_with_a_name() -> None:
    """Name, body, severity, place in a trace, attributes, number and identity arrive."""
    log = sent_log(Event("rl.reward", NOW, {"rl.reward.value": math.inf}, b"t" * 16, b"s" * 8, "scored", 13), 12)
    assert (log.event_name, log.time_unix_nano, log.observed_time_unix_nano, log.severity_number) == ("rl.reward", NOW, NOW, 13)
    assert (log.trace_id, log.span_id, value(log.body)) == (b"t" * 16, b"s" * 8, "scored")
    assert values(log.attributes) == {
        "rl.reward.value": math.inf,
        "rl.producer.sequence": 12,
        "log.record.uid": f"{PRODUCER}-12",
    }


def test_tokens_are_packed_and_decoded() -> None:
    """Arrays are packed as the vocabulary says, with text and offsets."""
    record = tokens(
        [0x4F60, 0x597D],
        kept=5,
        lead=[1, 2],
        logprobs=[-0.5, -1e9],
        loss_mask=[1, 0],
        advantages=[1.0, 2.0],
        tokenizer="ab" * 16,
        attributes={"rl.step.index": 3},
    )
    log = sent_log(record)
    assert (log.event_name, log.trace_id, log.span_id) == ("rl.trajectory.tokens", record.trace_id, record.span_id)
    found = values(log.attributes)
    assert found.pop("log.record.uid") == f"{PRODUCER}-7"
    assert found == {
        "rl.step.index": 3,
        "rl.tokens.role": "output",
        "rl.tokens.kept": 5,
        "rl.tokens.count": 2,
        "rl.tokens.lead": pack_ids([1, 2]),
        "rl.tokens.ids": pack_ids([0x4F60, 0x597D]),
        "rl.tokens.logprobs": b"\x00\xb8\x00\xfc",
        "rl.tokens.loss_mask": b"\x80",
        "rl.tokens.advantages": b"\x00\x3c\x00\x40",
        "rl.tokens.text": "你好",
        "rl.tokens.offsets": pack_ids([1, 2]),
        "rl.tokenizer.digest": "ab" * 16,
        "rl.producer.sequence": 7,
    }


def test_packed_tokens_are_the_same_as_lists() -> None:
    """Bytes of an engine's arrays give the same record as lists."""
    as_list = tokens([97, 98], logprobs=[-1.0, -2.0], loss_mask=[True, False], tokenizer="cut")
    as_bytes = tokens(pack_ids([97, 98]), lead=b"", logprobs=b"\x00\xbc\x00\xc0", loss_mask=b"\x01\x00", tokenizer="cut")
    assert values(sent_log(as_list).attributes) == values(sent_log(as_bytes).attributes)
    found = values(sent_log(as_list).attributes)
    assert (found["rl.tokens.tail"], found["rl.tokenizer.name"]) == (b"\xf0", "cut")


def test_foreign_metrics_keep_everything_and_get_an_identity() -> None:
    """A foreign metric goes as it came; our resource attributes are added where they are missing, the number to the scope."""
    request = ExportMetricsServiceRequest()
    group = request.resource_metrics.add()
    group.resource.attributes.add(key="service.name").value.string_value = "theirs"
    scope = group.scope_metrics.add()
    scope.scope.name = "meter"
    scope.metrics.add(name="queue").gauge.data_points.add(time_unix_nano=NOW, as_int=4)
    ((found),) = sent(Otlp("metrics", request.SerializeToString()), 9)
    (group,) = found.resource_metrics
    assert values(group.resource.attributes) == {**resource(PRODUCER), "service.name": "theirs"}
    (scope,) = group.scope_metrics
    assert (scope.scope.name, values(scope.scope.attributes)) == ("meter", {"rl.producer.sequence": 9})
    assert scope.metrics[0].gauge.data_points[0].as_int == 4


def test_gauges_are_derived_towards_a_collector_only() -> None:
    """Numbers of a step become gauge points at the step's own time in milliseconds; text does not."""
    record = step_metrics(3, {"loss": 0.5, "ok": True, "note": "x", "nan": math.nan, "big": 10**400}, NOW + 5)
    log, metrics = sent(record, derive=True)
    assert len(sent(record)) == 1
    assert log.resource_logs
    (scope,) = metrics.resource_metrics[0].scope_metrics
    assert scope.scope.name == v.SCOPE_DERIVED
    scalars, current = scope.metrics
    points = {values(point.attributes)["rl.metric.name"]: point for point in scalars.gauge.data_points}
    assert points.keys() == {"loss", "ok", "nan", "big"}
    assert (points["loss"].as_double, points["ok"].as_double, points["big"].as_double) == (0.5, 1.0, math.inf)
    assert math.isnan(points["nan"].as_double)
    assert {point.time_unix_nano for point in points.values()} == {NOW}
    assert (current.name, current.gauge.data_points[0].as_double) == ("rl.step.current", 3.0)


@given(st.lists(st.integers(0, 5_000_000), max_size=20))
def test_times_of_a_series_strictly_increase(times: list[int]) -> None:
    """Prometheus keeps one sample per series and millisecond: later points move on by one."""
    encode = encoder(derive=True)
    seen = []
    for time in times:
        item = encode.encode(step_metrics(1, {"loss": 1.0}, NOW + time), 1)[1]
        request = REQUESTS["metrics"].FromString(assemble([item]))
        seen.append(request.resource_metrics[0].scope_metrics[0].metrics[0].gauge.data_points[0].time_unix_nano // 1_000_000)
    assert all(earlier < later for earlier, later in itertools.pairwise(seen))


@pytest.mark.parametrize(
    "record",
    [
        span_end(attributes={"bad": "\ud800"}),
        span_end(name="\ud800"),
        span_end(attributes={"deep": (deep := [])}),
        span_end(start=-1),
        span_end(kind=2**40),
        span_end(attributes={"set": {1, 2}}),
        tokens([2**40]),
        tokens(b"\x00\x00\x00"),
        tokens([1], logprobs=["x"]),
        Otlp("metrics", b"\xff\xff\xff"),
    ],
)
def test_what_has_no_otlp_form_raises_one_error(record: Any) -> None:
    """A damaged record is told apart from its neighbours by one kind of error."""
    inner: list[Any] = deep
    for _ in range(5000):
        inner.append([])
        inner = inner[0]
    with pytest.raises(EncodeError):
        encoder().encode(record, 1)
    deep.clear()


def test_integers_beyond_64_bits_are_text() -> None:
    """What OTLP's integers cannot hold arrives as its digits."""
    assert values(sent_span(span_end(attributes={"n": 2**63, "m": -(2**63)})).attributes) == {
        "n": str(2**63),
        "m": -(2**63),
        "rl.producer.sequence": 7,
    }


@pytest.mark.parametrize(
    "record",
    [
        span_end(attributes={"text": "x" * (4 << 20), "step": 3}),
        span_end(attributes={"parts": ["y" * 1000] * 5000, "step": 3}),
        span_end(attributes={"step": 3}, events=[(NOW, "e" * 1000, {})] * 5000),
        span_end(attributes={str(i): "z" * 1000 for i in range(5000)} | {"step": 3}),
        Event("rl.table", NOW, {"step": 3, "rl.table.rows": "[" + "r" * (4 << 20)}),
        Event("", NOW, {"step": 3}, body="b" * (4 << 20)),
    ],
)
def test_a_record_over_the_cap_is_cut_and_says_so(record: Any) -> None:
    """It travels shortened, with its number, within the cap of a request."""
    (item,) = encoder().encode(record, 5)
    assert size_of(item) <= REQUEST_CAP
    message = REQUESTS[item.signal].FromString(assemble([item]))
    groups = message.resource_spans if item.signal == "traces" else message.resource_logs
    scopes = groups[0].scope_spans if item.signal == "traces" else groups[0].scope_logs
    (found,) = scopes[0].spans if item.signal == "traces" else scopes[0].log_records
    attributes = values(found.attributes)
    assert (attributes["rl.attributes.truncated"], attributes["step"], attributes["rl.producer.sequence"]) == (True, 3, 5)


def test_tokens_over_the_cap_leave_their_text_behind() -> None:
    """The ids go before the text, and the record says why there is none."""
    found = values(sent_log(tokens([0x1F680] * 300_000)).attributes)
    assert "too long" in found["rl.tokens.undecoded"]
    assert found["rl.tokens.count"] == 300_000
    with pytest.raises(EncodeError, match="over the limit"):
        encoder().encode(tokens([1] * (RECORD_CAP // 4)), 1)


def _items(count: int) -> list[Item]:
    encoders = [Encoder(resource(f"{n:016x}"), Spelled()) for n in range(3)]
    return [
        item
        for n in range(count)
        for item in encoders[n % 3].encode(span_end(scope=f"scope {n % 2}", attributes={"n": n, "x": "x" * (n % 50)}), n + 1)
    ]


@given(st.integers(0, 40))
def test_requests_are_grouped_and_their_size_is_bounded_before(count: int) -> None:
    """One group per resource and scope, each record once and in order, never larger than the sum of `size_of`."""
    items = _items(count)
    body = assemble(items)
    assert len(body) <= sum(map(size_of, items))
    request = REQUESTS["traces"].FromString(body)
    groups = {
        (values(group.resource.attributes)["rl.producer.id"], scope.scope.name): [values(span.attributes)["n"] for span in scope.spans]
        for group in request.resource_spans
        for scope in group.scope_spans
    }
    assert len(request.resource_spans) == min(3, count)
    assert sorted(n for numbers in groups.values() for n in numbers) == list(range(count))
    assert all(numbers == sorted(numbers) for numbers in groups.values())


def test_a_heartbeat_tells_counters_clock_and_open_spans() -> None:
    """Of many open spans the oldest are told, and how many there are."""
    from rollscope.shipper.otlp import OpenSpan

    spans = [OpenSpan(f"span {n}", b"t" * 16, n.to_bytes(8, "big"), NOW - n * 1_000_000_000) for n in range(300)]
    item = encoder().heartbeat(NOW, 41, {"full": 2}, {"too_long": 1}, {"log": 3}, spans, final=False)
    log = REQUESTS["logs"].FromString(assemble([item])).resource_logs[0].scope_logs[0].log_records[0]
    found = values(log.attributes)
    told = found.pop("rl.producer.open_spans")
    assert (log.event_name, log.time_unix_nano) == ("rl.producer.heartbeat", NOW)
    assert found == {
        "rl.producer.last_sequence": 41,
        "rl.producer.dropped": {"full": 2},
        "rl.producer.truncated": {"too_long": 1},
        "rl.producer.failed_calls": {"log": 3},
        "rl.producer.open_span_count": 300,
        "rl.producer.final": False,
        "rl.producer.abnormal": False,
        "rl.producer.deleted_upto": 0,
    }
    assert len(told) == 200
    assert told[0] == {"name": "span 299", "trace_id": "74" * 16, "span_id": f"{299:016x}", "age": 299.0}


def test_a_heartbeat_is_told_in_metrics_as_well() -> None:
    """What was written and lost are cumulative sums, what is open and waiting gauges; losses carry their reason."""
    spans = [OpenSpan("a", b"t" * 16, b"s" * 8, NOW - 3_000_000_000), OpenSpan("b", b"t" * 16, b"u" * 8, NOW)]
    item = encoder(derive=True).telemetry(NOW, 7, {"full": 2, "evicted": 1}, spans, 4096)
    assert item.derived
    (scope,) = REQUESTS["metrics"].FromString(assemble([item])).resource_metrics[0].scope_metrics
    assert scope.scope.name == v.SCOPE_DERIVED
    found = {metric.name: metric for metric in scope.metrics}
    gauges = {name: metric.gauge.data_points[0].as_double for name, metric in found.items() if metric.HasField("gauge")}
    assert gauges == {v.METRIC_SPOOL: 4096, v.METRIC_OPEN_SPANS: 2, v.METRIC_OPEN_AGE: 3.0, v.METRIC_DELAY: 0.0, v.METRIC_ALIVE: 1.0}
    assert found[v.METRIC_RECORDS].sum.data_points[0].as_int == 7
    lost = found[v.METRIC_DROPPED].sum
    assert lost.is_monotonic
    assert {values(point.attributes)[v.LOSS_REASON]: point.as_int for point in lost.data_points} == {"full": 2, "evicted": 1}
    assert {point.time_unix_nano for point in lost.data_points} == {NOW}
