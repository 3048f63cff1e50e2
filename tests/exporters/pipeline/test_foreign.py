"""Programs without rollscope: spans, metrics and logs, each once."""

from __future__ import annotations

import json

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope_exporters.records import LogLine, StepMetrics, Trace, Trajectory

from ..bridge import Bridge
from ..foreign import gauge_request, log_request, span_request


def test_spans_become_a_trace_after_quiet_time(bridge: Bridge) -> None:
    """Spans of one trace, however they were spread over requests, go out together."""
    bridge.take([span_request("program", [("inner", "work")])])
    bridge.take([span_request("program", [("work", None)])], seconds=3)
    bridge.wait(4)
    assert not bridge.of(Trace)
    bridge.wait(2)
    (found,) = bridge.of(Trace)
    assert [span.name for span in found.spans] == ["work", "inner"]
    assert found.spans[0].resource["service.name"] == "program"


def test_a_span_sent_again_is_dropped(bridge: Bridge) -> None:
    """Sent again before or after it went out, at once or after a restart, a span counts once."""
    sent = span_request("program", [("work", None), ("inner", "work")])
    bridge.take([sent, sent])
    bridge.restart()
    bridge.take([sent])
    bridge.wait(10)
    bridge.restart()
    bridge.take([sent])
    bridge.take([span_request("program", [("late", "work")])])
    bridge.wait(10)
    assert [([span.name for span in trace.spans], trace.late) for trace in bridge.of(Trace)] == [
        (["work", "inner"], False),
        (["late"], True),
    ]


def test_an_agent_span_becomes_a_trajectory(bridge: Bridge) -> None:
    """An `invoke_agent` root is a rollout; its model calls are its conversation."""
    said = [{"role": "user", "parts": [{"type": "text", "content": "How high is 泰山?"}]}]
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "1545 m 🏔"}], "finish_reason": "stop"}]
    attributes = {
        "invoke_agent helper": {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "helper"},
        "chat m": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "m",
            "gen_ai.input.messages": json.dumps(said),
            "gen_ai.output.messages": json.dumps(answer),
        },
    }
    bridge.take([span_request("program", [("invoke_agent helper", None), ("chat m", "invoke_agent helper")], attributes=attributes)])
    bridge.wait(10)
    (found,) = bridge.of(Trajectory)
    assert (found.agent, found.outcome) == ("helper", "completed")
    assert found.messages == [{"role": "user", "content": "How high is 泰山?"}, {"role": "assistant", "content": "1545 m 🏔"}]
    assert found.generations[0].finish_reasons == ["stop"]


def test_a_point_sent_again_is_dropped(bridge: Bridge) -> None:
    """A point is known by series and time, across restarts; another series or another time is another point."""
    bridge.take([gauge_request("program", {"loss": 1.0}, time=1)])
    bridge.restart()
    bridge.take([gauge_request("program", {"loss": 1.0, "norm": 2.0}, time=1), gauge_request("program", {"loss": 1.0}, time=2)])
    bridge.wait(10)
    assert [(m.time, m.values) for m in bridge.of(StepMetrics)] == [(1, {"loss": 1.0}), (1, {"norm": 2.0}), (2, {"loss": 1.0})]


def test_points_of_one_moment_are_one_record(bridge: Bridge) -> None:
    """A step attribute gives the step; other attributes tell series apart in the name."""
    bridge.take([gauge_request("program", {"loss": 1.0, "norm": 2.0}, time=1, attributes={"step": 7, "rank": 0})])
    bridge.wait(10)
    assert [(m.step, m.values) for m in bridge.of(StepMetrics)] == [(7, {"loss/rank:0": 1.0, "norm/rank:0": 2.0})]


def test_log_lines_said_twice_are_kept_and_sent_twice_are_dropped(bridge: Bridge) -> None:
    """Two equal lines in one request are two; the request sent again adds none."""
    sent = log_request("program", ["again", "again", "other"])
    bridge.take([sent])
    bridge.take([sent])
    bridge.wait(10)
    assert [line.body for line in bridge.of(LogLine)] == ["again", "again", "other"]


def test_an_event_keeps_its_name(bridge: Bridge) -> None:
    """An event of the program's own is a log line with a name."""
    bridge.take([log_request("program", ["text"], name="app.started")])
    bridge.wait(10)
    assert [(line.name, line.body) for line in bridge.of(LogLine)] == [("app.started", "text")]


def test_a_span_with_a_wrong_clock_is_repaired_and_counted(bridge: Bridge) -> None:
    """A span that ends before it starts arrives with no length, and the ledger says so."""
    signal, data = span_request("program", [("work", None)])
    request = ExportTraceServiceRequest.FromString(data)
    request.resource_spans[0].scope_spans[0].spans[0].end_time_unix_nano = 1
    bridge.take([(signal, request.SerializeToString())])
    bridge.wait(10)
    assert [span.end - span.start for trace in bridge.of(Trace) for span in trace.spans] == [0]
    assert bridge.ledger().runs[0].notes == ["1 item had to be repaired (span with its end before its start: 1)"]
