"""What the Collector's configurations promise, held against every file: order, durability, retries, signs of life."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from tests.collector.configurations import ROOT

TIERS = ("agent.yaml", "gateway.yaml", "gateway-balancer.yaml", "gateway-balancer-dns.yaml", "relay-in.yaml", "relay-out.yaml")
VIEWS = {"otlp_grpc/jaeger", "otlp_grpc/prometheus", "prometheus_remote_write", "prometheus_remote_write/spans"}
"""Exporters to what only shows: they may drop, training may not wait for them."""
Section = dict[str, Any]


def load(name: str) -> Section:
    """A configuration, with its anchors resolved."""
    found: Section = yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
    return found


def exporters(name: str) -> Iterator[tuple[str, Section]]:
    """Exporters of records; a balancer's own queue counts."""
    yield from ((key, part) for key, part in load(name)["exporters"].items() if key not in VIEWS)


def queue(part: Section) -> Section:
    """An exporter's queue, empty where it has none."""
    found = part.get("sending_queue", {})
    return found if found.get("enabled") else {}


@pytest.mark.parametrize("name", TIERS)
def test_memory_is_looked_at_first(name: str) -> None:
    """The first processor of every pipeline is the one that refuses when memory runs out."""
    for pipeline in load(name)["service"]["pipelines"].values():
        assert pipeline["processors"][0] == "memory_limiter"


@pytest.mark.parametrize("name", TIERS)
def test_queues_are_on_disk_synced_and_counted_in_bytes(name: str) -> None:
    """Every queue of records lies in a synced file storage, waits when full, and batches behind it by bytes."""
    config = load(name)
    for key, part in exporters(name):
        if found := queue(part):
            assert config["extensions"][found["storage"]]["fsync"] is True, key
            assert found["block_on_overflow"] is True
            assert found["sizer"] == found["batch"]["sizer"] == "bytes"
            assert found["batch"]["max_size"]
    assert "batch" not in config["processors"]


@pytest.mark.parametrize("name", TIERS)
def test_records_are_tried_for_ever(name: str) -> None:
    """No exporter of records gives up, and none pauses for more than a few seconds."""
    # What the static balancer's first half cannot hand on within the process goes back to the agent, which has a queue.
    tried = [part["retry_on_failure"] for key, part in exporters(name) if queue(part) or name == "relay-out.yaml"]
    assert tried
    for retry in tried:
        assert (retry["enabled"], retry["max_elapsed_time"], retry["max_interval"]) == (True, "0s", "5s")


@pytest.mark.parametrize("name", TIERS)
def test_token_payloads_have_a_way_of_their_own(name: str) -> None:
    """No pipeline takes from a token port and another one, and exporters of tokens carry nothing else."""
    pipelines = load(name)["service"]["pipelines"].values()
    own = [pipeline for pipeline in pipelines if any("tokens" in receiver for receiver in pipeline["receivers"])]
    assert own
    for pipeline in own:
        assert all("tokens" in part for kind in ("receivers", "exporters") for part in pipeline[kind])
    carriers = {exporter for pipeline in own for exporter in pipeline["exporters"]}
    assert all(carriers.isdisjoint(pipeline["exporters"]) for pipeline in pipelines if pipeline not in own)


def seconds(text: str) -> int:
    """A duration in whole seconds."""
    return int(text.removesuffix("s"))


@pytest.mark.parametrize("name", TIERS)
def test_a_peer_that_is_gone_is_noticed_in_twenty_seconds(name: str) -> None:
    """Connections to other machines ask whether the other side lives, less often than the other side allows."""
    config = load(name)
    for key, part in exporters(name):
        transport = part.get("protocol", {}).get("otlp", part)
        # From one half of the static balancer to the other, and to Kafka, whose client looks after itself.
        if key.startswith("kafka") or (name == "gateway-balancer.yaml" and key.startswith("loadbalancing")):
            continue
        alive = transport["keepalive"]
        assert seconds(alive["time"]) + seconds(alive["timeout"]) <= 20
        assert alive["permit_without_stream"] is True
    if name in ("agent.yaml", "relay-out.yaml"):
        return  # spoken to on the same machine, or by Kafka
    for key in ("otlp", "otlp/tokens"):
        policy = config["receivers"][key]["protocols"]["grpc"]["keepalive"]["enforcement_policy"]
        assert seconds(policy["min_time"]) < 10
        assert policy["permit_without_stream"] is True


def test_span_metrics_have_exponential_histograms_and_bounded_labels() -> None:
    """A rollout takes minutes, where fixed buckets end at 15 s; no label is an id."""
    made = load("gateway.yaml")["connectors"]["span_metrics"]
    assert made["histogram"].keys() == {"unit", "exponential"}
    assert not any(word in dimension["name"] for dimension in made["dimensions"] for word in (".id", "index", "trajectory", "group"))
    assert made["aggregation_cardinality_limit"] > 0
