"""The demo through agent, gateway and bridge, every hop real: complete in the trackers, linked in Jaeger, exact in Prometheus."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name, metric_name
from tests.collector.stack import Stack
from tests.fixtures.collector import STEPS, EveryDestination

pytestmark = pytest.mark.integration
TRAJECTORIES = STEPS * 8 * 8 + 16
"""Eight groups of eight a step, and a validation at the end."""
OWN_LABELS = {"__name__", "job", "instance", "otel_scope_name", "collector_instance_id", "service_name", "span_name", "status_code"}


def lines(stack: Stack, name: str) -> Iterator[dict[str, Any]]:
    """Records of the demo that the JSONL backend wrote."""
    path = stack.storage / "jsonl" / stack.demo_run / f"{name}.jsonl"
    yield from map(json.loads, path.read_text(encoding="utf-8").splitlines())


def samples(stack: Stack, metric: str) -> list[dict[str, Any]]:
    """Every sample of a metric in the demo's run."""
    return stack.samples(f'{metric_name(metric)}{{{label_name(v.RUN_ID)}="{stack.demo_run}"}}')


def trajectories(stack: Stack) -> list[dict[str, Any]]:
    """Whole trajectories that the JSONL backend wrote, late facts left aside."""
    return [line for line in lines(stack, "trajectories") if line["record"] == "trajectory"]


def traces(stack: Stack, operation: str) -> list[dict[str, Any]]:
    """Traces of Jaeger with a span of that name, by its JSON API."""
    began, ended = (str(int(time * 1e6)) for time in stack.demo)
    found: list[dict[str, Any]] = stack.get(
        "jaeger", "/api/traces", service="rollscope", operation=operation, limit="2000", start=began, end=ended
    )["data"]
    return found


def tags(span: dict[str, Any]) -> dict[str, tuple[str, Any]]:
    """Type and value of each attribute."""
    return {tag["key"]: (tag["type"], tag["value"]) for tag in span["tags"]}


def test_records_arrive_once_and_in_order(travelled: EveryDestination) -> None:
    """Over two Collectors came each step in turn, and each trajectory once; what every destination has of them is tested apart."""
    steps = [line["values"]["training/global_step"] for line in lines(travelled, "metrics") if "training/global_step" in line["values"]]
    assert steps == list(range(1, STEPS + 1))
    ids = [line["id"] for line in trajectories(travelled)]
    assert len(ids) == len(set(ids)) == TRAJECTORIES


def test_token_payloads_took_their_own_port(travelled: EveryDestination) -> None:
    """What came in by the agent's and the gateway's token ports is what was produced of it, and nothing else did."""
    accepted = 'sum by (job, receiver) (otelcol_receiver_accepted_log_records{receiver=~"otlp/tokens"})'
    travelled.until(lambda: len(travelled.query(accepted)) == 2, "the token ports are not counted")
    by_agent, by_gateway = (float(series["value"][1]) for series in travelled.query(accepted))
    assert by_agent == by_gateway > 0


def test_a_trajectory_is_a_trace_linked_to_its_step(travelled: EveryDestination) -> None:
    """Each step and each trajectory is one trace; every trajectory's root follows from a span of the step it belongs to."""
    travelled.until(lambda: len(traces(travelled, f"{v.SPAN_INVOKE_AGENT} tool-user")) >= TRAJECTORIES, "Jaeger lacks trajectories")
    steps = {trace["traceID"]: trace for trace in traces(travelled, v.SPAN_STEP)}
    rollouts = traces(travelled, f"{v.SPAN_INVOKE_AGENT} tool-user")
    assert (len(steps), len(rollouts)) == (STEPS, TRAJECTORIES)
    in_step = {
        (trace["traceID"], span["spanID"]): tags(span)[v.STEP_INDEX][1]
        for trace in steps.values()
        for span in trace["spans"]
        if v.STEP_INDEX in tags(span)
    }
    for trace in rollouts:
        (root,) = (span for span in trace["spans"] if not any(ref["refType"] == "CHILD_OF" for ref in span["references"]))
        (link,) = root["references"]
        assert link["refType"] == "FOLLOWS_FROM"
        assert in_step[link["traceID"], link["spanID"]] == tags(root)[v.STEP_INDEX][1]


def test_parents_and_types_survive(travelled: EveryDestination) -> None:
    """Turns hang below the root, generations and tools below turns; numbers are numbers and messages are JSON."""
    below: Counter[tuple[str, str]] = Counter()
    for trace in traces(travelled, f"{v.SPAN_INVOKE_AGENT} tool-user"):
        names = {span["spanID"]: span["operationName"].partition(" ")[0] for span in trace["spans"]}
        for span in trace["spans"]:
            parents = [ref["spanID"] for ref in span["references"] if ref["refType"] == "CHILD_OF"]
            below.update((names[parent], names[span["spanID"]]) for parent in parents)
            check_types(names[span["spanID"]], tags(span))
    assert below.keys() == {(v.SPAN_INVOKE_AGENT, v.SPAN_TURN), (v.SPAN_TURN, v.SPAN_CHAT), (v.SPAN_TURN, v.SPAN_EXECUTE_TOOL)}


def check_types(kind: str, found: dict[str, tuple[str, Any]]) -> None:
    """Hold the attributes of one span against the vocabulary's types."""
    assert found[v.STEP_INDEX][0] == found[v.PRODUCER_SEQUENCE][0] == "int64"
    if kind == v.SPAN_INVOKE_AGENT:
        assert found[v.REWARD_VALUE][0] == "float64"
        assert set(json.loads(found[v.REWARD_COMPONENTS][1])) == {"answer", "evidence", "format"}
    if kind == v.SPAN_CHAT:
        messages = json.loads(found[v.GEN_AI_INPUT_MESSAGES][1])
        assert all(message["parts"] for message in messages)


def test_the_newer_api_agrees(travelled: EveryDestination) -> None:
    """Jaeger's v3 API has the same spans as OTLP, with links and with types."""
    trace = traces(travelled, f"{v.SPAN_INVOKE_AGENT} tool-user")[0]
    answer = travelled.get("jaeger", f"/api/v3/traces/{trace['traceID']}")
    spans = [span for group in answer["result"]["resourceSpans"] for scope in group["scopeSpans"] for span in scope["spans"]]
    assert {span["spanId"] for span in spans} == {span["spanID"] for span in trace["spans"]}
    (root,) = (span for span in spans if not span.get("parentSpanId"))
    assert len(root["links"]) == 1
    (reward,) = (attribute["value"] for attribute in root["attributes"] if attribute["key"] == v.REWARD_VALUE)
    assert isinstance(reward["doubleValue"], (int, float))


def test_every_value_has_its_own_time(travelled: EveryDestination) -> None:
    """Prometheus has each scalar of each step, at the step's time to the millisecond, and no other."""
    wanted = {
        (name, line["time"] // 1_000_000): value
        for line in lines(travelled, "metrics")
        for name, value in line["values"].items()
        if isinstance(value, (int, float)) and not name.startswith("system/")  # what hosts measure is no scalar of a step
    }

    def found() -> dict[tuple[str, int], float]:
        return {
            (series["metric"][label_name(v.METRIC_NAME)], round(time * 1000)): float(value)
            for series in samples(travelled, v.METRIC_STEP_SCALAR)
            for time, value in series["values"]
        }

    travelled.until(lambda: len(found()) >= len(wanted), "not every value arrived")
    assert found() == wanted


def test_spans_are_counted_with_their_durations(travelled: EveryDestination) -> None:
    """The gateway's span metrics count every trajectory, in a counter and in a native histogram whose sum is the real one."""
    agent = f'{{{label_name(v.GEN_AI_OPERATION_NAME)}="{v.SPAN_INVOKE_AGENT}",{label_name(v.RUN_ID)}="{travelled.demo_run}"}}'
    calls = f"sum({metric_name(v.METRIC_SPAN_CALLS)}{agent})"
    durations = f"sum({metric_name(v.METRIC_SPAN_DURATION)}{agent})"

    def value(expression: str) -> float:
        found = travelled.query(expression)
        return float(found[0]["value"][1]) if found else 0.0

    travelled.until(lambda: value(calls) == TRAJECTORIES, "not every trajectory was counted", 30)
    assert value(f"histogram_count({durations})") == TRAJECTORIES
    roots = [span for trace in traces(travelled, f"{v.SPAN_INVOKE_AGENT} tool-user") for span in trace["spans"]]
    seconds = sum(span["duration"] for span in roots if span["operationName"].startswith(v.SPAN_INVOKE_AGENT)) / 1e6
    assert value(f"histogram_sum({durations})") == pytest.approx(seconds, rel=1e-3)


def test_labels_are_few_and_hold_no_ids_of_trajectories(travelled: EveryDestination) -> None:
    """Series depend on the number of names and processes, not of steps, groups or trajectories."""
    travelled.until(lambda: len(samples(travelled, v.METRIC_RECORDS)) >= 5, "not every process told what it wrote")
    selector = f'{{__name__=~"rl_.*",{label_name(v.RUN_ID)}="{travelled.demo_run}"}}'
    series = travelled.get("prometheus", "/api/v1/series", **{"match[]": selector})["data"]
    allowed = OWN_LABELS | {label_name(name) for kind, name in v.REGISTRY if kind in ("attribute", "resource")}
    ids = {line[key] for line in trajectories(travelled) for key in ("id", "group")}
    for labels in series:
        assert labels.keys() <= allowed
        assert not ids & set(labels.values())
        assert not any(re.fullmatch("[0-9a-f]{32}", value) for value in labels.values())
    per_metric = Counter(labels["__name__"] for labels in series)
    scalars = {labels[label_name(v.METRIC_NAME)] for labels in series if labels["__name__"] == metric_name(v.METRIC_STEP_SCALAR)}
    assert per_metric[metric_name(v.METRIC_STEP_SCALAR)] == len(scalars)
    assert per_metric[metric_name(v.METRIC_RECORDS)] == 5  # the trainer and four rollout workers
    assert max(per_metric.values()) < 200


def test_the_fleet_is_seen(travelled: EveryDestination) -> None:
    """Every process told what it wrote, and that it ended; clocks of one machine do not differ."""

    def last(metric: str) -> list[str]:
        return [series["values"][-1][1] for series in samples(travelled, metric)]

    travelled.until(lambda: last(v.METRIC_ALIVE) == ["0"] * 5, "not every process told that it ended")
    (run,) = (run for run in travelled.ledger()["runs"] if run["run"] == travelled.demo_run)
    assert set(map(int, last(v.METRIC_RECORDS))) == {producer["produced"] for producer in run["producers"]}
    delays = [float(value) for series in travelled.samples(metric_name(v.METRIC_DELAY)) for _, value in series["values"]]
    assert min(delays) >= 0
    assert min(delays) < 5
