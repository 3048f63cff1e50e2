"""Tests of becoming the global provider, with real auto-instrumentations in programs of their own."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from rollscope import vocabulary as v
from rollscope.records import Event, Otlp, Record, SpanEnd
from tests import components

ReadBack = Callable[..., list[Record]]
Program = Callable[..., "subprocess.CompletedProcess[str]"]

INSTALL = "pip install 'rollscope[dev]'"


def spans(records: list[Record]) -> dict[str, SpanEnd]:
    return {record.name: record for record in records if isinstance(record, SpanEnd)}


def metrics(records: list[Record]) -> dict[str, object]:
    found = {}
    for record in records:
        if isinstance(record, Otlp):
            request = ExportMetricsServiceRequest.FromString(record.payload)
            found |= {
                metric.name: metric for outer in request.resource_metrics for scope in outer.scope_metrics for metric in scope.metrics
            }
    return found


def test_auto_instrumentations_join_the_run(run_program: Program, read_back: ReadBack) -> None:
    """urllib3's spans and metrics, and a thread's context, arrive below our span and with its identity."""
    components.module("opentelemetry.instrumentation.urllib3", INSTALL)
    components.module("opentelemetry.instrumentation.threading", INSTALL)
    run_program(
        """
import http.server, urllib3
from opentelemetry.instrumentation.threading import ThreadingInstrumentor
from opentelemetry.instrumentation.urllib3 import URLLib3Instrumentor
r = R.init('p', 'e', circumstances=False, set_global=True)
URLLib3Instrumentor().instrument()
ThreadingInstrumentor().instrument()
server = http.server.ThreadingHTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
with r.start_span('step', identity={'rl.loop.iteration': 4}):
    urllib3.PoolManager().request('GET', f'http://127.0.0.1:{server.server_port}/')
    thread = threading.Thread(target=lambda: r.start_span('in thread').end())
    thread.start(); thread.join()
"""
    )
    records = read_back()
    found = spans(records)
    step, get, thread = found["step"], found["GET"], found["in thread"]
    assert get.parent_id == thread.parent_id == step.span_id
    assert get.kind == 3
    assert get.scope.endswith("urllib3")
    assert get.attributes[v.STEP_INDEX] == thread.attributes[v.STEP_INDEX] == 4
    assert any(name.endswith("duration") for name in metrics(records))


def test_logs_and_metrics_of_the_api_are_recorded(run_program: Program, read_back: ReadBack) -> None:
    """An event of a library and its counter are in the journal before the run's end is, however short the run."""
    run_program(
        """
from opentelemetry import _logs, metrics
r = R.init('p', 'e', circumstances=False, set_global=True)
metrics.get_meter('lib').create_counter('requests').add(2, {'kind': 'a'})
with r.start_span('work'):
    _logs.get_logger('lib').emit(_logs.LogRecord(event_name='lib.event', body={'a': [1]}, attributes={'b': 2}, timestamp=5))
"""
    )
    records = read_back()
    event = next(record for record in records if isinstance(record, Event) and record.name == "lib.event")
    assert (event.body, event.attributes, event.time, event.scope) == ('{"a":[1]}', {"b": 2}, 5, "lib")
    assert event.trace_id == spans(records)["work"].trace_id
    assert metrics(records)["requests"].sum.data_points[0].as_int == 2  # type: ignore[attr-defined]


def test_providers_of_the_program_s_own_are_joined(run_program: Program, read_back: ReadBack) -> None:
    """An application that configured the SDK keeps its providers; its signals go to the journal too, once, also in a second run."""
    run_program(
        """
from opentelemetry import _logs, metrics, trace
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.trace import TracerProvider
own = TracerProvider()
trace.set_tracer_provider(own)
metrics.set_meter_provider(MeterProvider())
_logs.set_logger_provider(LoggerProvider())
for run in 'ab':
    r = R.init('p', run, circumstances=False, set_global=True)
    assert trace.get_tracer_provider() is own
    with trace.get_tracer('app').start_as_current_span('theirs ' + run):
        with r.start_span('ours ' + run):
            pass
    _logs.get_logger('app').emit(_logs.LogRecord(event_name='event ' + run))
    R.finish()
"""
    )
    for run in "ab":
        records = read_back(**{v.RUN_NAME: run})
        found = spans(records)
        assert set(found) == {f"theirs {run}", f"ours {run}"}
        assert found[f"ours {run}"].parent_id == found[f"theirs {run}"].span_id
        assert sum(isinstance(record, Event) and record.name == f"event {run}" for record in records) == 1


def test_a_provider_of_another_make_is_left_alone(run_program: Program) -> None:
    """It is said once, and nothing breaks."""
    done = run_program(
        """
from opentelemetry import trace
class Theirs(trace.NoOpTracerProvider): pass
theirs = Theirs()
trace.set_tracer_provider(theirs)
R.init('p', 'e', circumstances=False, set_global=True)
assert trace.get_tracer_provider() is theirs
"""
    )
    assert "global tracer provider is a Theirs" in done.stderr


def test_without_being_asked_no_global_provider_is_set(run_program: Program) -> None:
    """A library must not take over what belongs to the application."""
    run_program(
        """
from opentelemetry import trace
before = trace.get_tracer_provider()
R.init('p', 'e', circumstances=False)
assert trace.get_tracer_provider() is before
"""
    )
