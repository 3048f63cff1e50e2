"""Spans of one request are taken together: the same comes of it as of one after the other."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.ids import EntropyIds
from rollscope.shipper.otlp import Item, assemble
from rollscope_exporters.records import Trace, Trajectory

from ..bridge import Bridge
from ..foreign import span_request
from ..wire import Request, process
from ..workload import effects
from .rollouts import roll_out

TRACES = 250
"""More than one query asks for."""


def recorded(rng: random.Random) -> list[Item]:
    """Spans of rollouts, one of them recorded twice and one cut off, of traces that count nothing, and of lone ones; some of them twice."""
    with process(ids=EntropyIds()) as worker:
        for index in (0, 1, 2, 1):
            roll_out(index=index, reward=False)
            with rs.span("alone"):
                pass
            with rs.span("root"), rs.span("child"):
                pass
        died = [worker._encoder.aborted(record, record.start + 5) for record in worker.memory.started if record.parent_id is None]
        spans = [item for item in worker.items() if item.signal == "traces"] + died[:1]
    spans += rng.sample(spans, 5)
    by_chance = rng.choice([0, 3, 30])
    return [spans[place] for place in sorted(range(len(spans)), key=lambda place: place + rng.uniform(0, by_chance))]


def taken(storage: Path, requests: Iterable[Request]) -> Bridge:
    """A bridge that took the requests in one commit, in the middle of a run, and waited for what is still to come."""
    bridge = Bridge(storage)
    with process("00000000000000d0") as driver:
        driver.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        bridge.take([("logs", assemble(driver.items()))])
    bridge.take(requests)
    bridge.wait(700)
    return bridge


@pytest.mark.parametrize("seed", range(12))
def test_one_request_or_one_each(tmp_path: Path, seed: int) -> None:
    """Roots first or last, spans twice, late, alone or repeated under one id: rows, sources and ledger are the same."""
    items = recorded(random.Random(seed))
    together = taken(tmp_path / "together", [("traces", assemble(items))])
    singly = taken(tmp_path / "singly", [("traces", assemble([item])) for item in items])
    assert effects(together.records()) == effects(singly.records())
    assert together.sources() == singly.sources()
    counted, expected = together.ledger("run-1").runs[0], singly.ledger("run-1").runs[0]
    assert [(p.received, p.missing, p.duplicate) for p in counted.producers] == [
        (p.received, p.missing, p.duplicate) for p in expected.producers
    ]
    assert counted.repeated == expected.repeated
    assert together.of(Trajectory)


def test_spans_without_number(bridge: Bridge) -> None:
    """Of a foreign program's spans in one request each counts once, also where the request has one twice."""
    spans = [("plain", "root"), ("plain", "root"), ("other", "root"), ("root", None), ("late", "root")]
    bridge.take([span_request("service", spans), span_request("service", spans[:3])])
    bridge.wait(10)
    (trace,) = bridge.of(Trace)
    assert Counter(span.name for span in trace.spans) == {"root": 1, "plain": 1, "other": 1, "late": 1}
    assert bridge.sources() == {"": 4}


def test_many_traces_that_have_gone_out(bridge: Bridge) -> None:
    """Sent again to a new process, what went out long ago is known, every trace of it; one that is new is taken."""
    request = one_request([f"trace {n}" for n in range(TRACES)])
    bridge.take([request])
    bridge.wait(10)
    assert len(bridge.of(Trace)) == TRACES
    bridge.restart()
    bridge.take([request, one_request([f"trace {n}" for n in range(TRACES + 1)])])
    bridge.wait(10)
    assert len(bridge.of(Trace)) == TRACES + 1


def test_a_trace_that_was_looked_for_and_then_went_out(bridge: Bridge, monkeypatch: pytest.MonkeyPatch) -> None:
    """That it had not gone out is believed for one commit only, however little of what went out is kept in memory."""
    monkeypatch.setattr("rollscope_exporters.pipeline.delivered._REMEMBERED", 0)
    traces = [f"trace {n}" for n in range(TRACES)]
    for requests in ([one_request(traces)], [one_request([trace]) for trace in traces]):
        bridge.take(requests)
        bridge.wait(10)
    assert len(bridge.of(Trace)) == TRACES


def test_one_query_for_many_traces(bridge: Bridge) -> None:
    """Traces are not asked for one by one."""
    queries: list[str] = []
    bridge.store.db.set_trace_callback(queries.append)
    bridge.take([one_request([f"trace {n}" for n in range(TRACES)])])
    assert len([query for query in queries if query.startswith("SELECT") and "traces" in query]) < TRACES / 10


def one_request(traces: list[str]) -> Request:
    """A child and its root in each of the traces."""
    request, *others = (
        ExportTraceServiceRequest.FromString(span_request("service", [("child", "root"), ("root", None)], trace=trace)[1])
        for trace in traces
    )
    for other in others:
        request.resource_spans[0].scope_spans.extend(other.resource_spans[0].scope_spans)
    return "traces", request.SerializeToString()
