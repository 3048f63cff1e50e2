"""A span with ten attributes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from opentelemetry.sdk.trace import SpanProcessor, TracerProvider

import rollscope as rs

from .harness import Contender, Operation, Outcome, compare, judged, paired_ratio, summary
from .recording import SPAN_ATTRIBUTES, recording, scratch

NAME = "span"
WORKLOAD = (
    "`with span(name, attributes): pass`, ten attributes of a tool call given at the start, no parent. Ours writes start and end to the "
    "journal on disk; the SDK's hands the finished span to a processor that does nothing, and keeps nothing."
)
BAR = "ours / OpenTelemetry SDK <= 0.25"
OURS, SDK = "rollscope span, durable", "OpenTelemetry SDK, no-op processor"


@contextlib.contextmanager
def _ours() -> Iterator[Operation]:
    def operation() -> None:
        with rs.span("execute_tool", SPAN_ATTRIBUTES):
            pass

    with scratch() as folder, recording(folder):
        yield operation


@contextlib.contextmanager
def _ours_through_the_api() -> Iterator[Operation]:
    def operation() -> None:
        with tracer.start_as_current_span("execute_tool", attributes=SPAN_ATTRIBUTES):
            pass

    tracer = rs.get_tracer("bench")
    yield operation


@contextlib.contextmanager
def _sdk() -> Iterator[Operation]:
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SpanProcessor())
    tracer = provider.get_tracer("bench")

    def operation() -> None:
        with tracer.start_as_current_span("execute_tool", attributes=SPAN_ATTRIBUTES):
            pass

    yield operation
    provider.shutdown()


def run(*, quick: bool) -> Outcome:
    """Compare."""
    times = 300 if quick else 1500
    contenders = [
        Contender(OURS, _ours, times),
        Contender("rollscope by the OpenTelemetry API, durable", _ours_through_the_api, times),
        Contender(SDK, _sdk, times),
    ]
    measured, notes = compare(contenders, 5 if quick else 40)
    ratio = paired_ratio(measured[OURS], measured[SDK])
    return Outcome(summary(measured), {f"{OURS} / {SDK}": ratio}, ratio <= 0.25, notes + judged(measured[OURS])[1])
