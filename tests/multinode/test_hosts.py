"""A job on nodes with an agent each, gateway and bridge on a head node: ranks, clocks, a cable out for a minute.

The cable is pulled first and put in again last; the other tests go on meanwhile, on other nodes.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Timer

import pytest

from rollscope_exporters.ledger import RunLedger
from tests import components
from tests.multinode.hosts import Cluster, running_cluster
from tests.multinode.launch import check_whole, ledger
from tests.multinode.named import GATEWAYS, NamedGateways
from tests.multinode.readback import MLFLOW_WARNS, check_mlflow

pytestmark = [pytest.mark.integration, pytest.mark.reliability, *MLFLOW_WARNS]
AHEAD = 3600
MINUTE = 60.0
"""Seconds for which `node-c` has no cable."""
LONG = 15
"""Steps of the job that goes on meanwhile."""
RANKS = {(0, "node-a"), (1, "node-a"), (2, "node-b"), (3, "node-b")}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Iterator[Cluster]:
    """Head and nodes for the tests of this module."""
    with running_cluster(tmp_path_factory.mktemp("hosts"), mlflow_store) as running:
        yield running


@dataclass
class CutOff:
    """A job on `node-a` and on `node-c`, which loses its cable in full swing and has it again a minute later."""

    cluster: Cluster
    before: RunLedger | None = None
    """The ledger a moment before its return."""
    mended: float = 0.0
    """When that was, by the monotonic clock."""

    def mend(self) -> None:
        """Put the cable in."""
        self.before = ledger(self.cluster.storage, "cut")
        self.cluster.mend("node-c")
        self.mended = time.monotonic()


@pytest.fixture(scope="module", autouse=True)
def cut_off(cluster: Cluster) -> Iterator[CutOff]:
    """It goes on while the other tests run."""
    cluster.train("cut", ("node-a", "node-c"), range(4), 4, steps=LONG, seconds=1.0)
    cluster.until(lambda: received(cluster, "cut").keys() == {"node-a", "node-c"}, "not both nodes are heard of")
    cluster.cut("node-c")
    cut_off = CutOff(cluster)
    timer = Timer(MINUTE, cut_off.mend)
    timer.start()
    yield cut_off
    timer.cancel()
    timer.join()


@pytest.fixture(scope="module")
def gateways(cluster: Cluster) -> NamedGateways:
    """Two gateways on hosts of their own, behind a balancer that knows their common name."""
    return NamedGateways(cluster)


@pytest.fixture(scope="module")
def wrong_clock(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Environment in which a process reads a wall clock that is an hour ahead."""
    library = tmp_path_factory.mktemp("clock") / "clock.so"
    compiler = components.program("cc", "apt-get install gcc")
    subprocess.run([compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(Path(__file__).with_name("clock.c")), "-ldl"], check=True)
    return {"LD_PRELOAD": str(library), "CLOCK_AHEAD": str(AHEAD)}


def finished(cluster: Cluster, experiment: str, verdict: str = "complete") -> RunLedger:
    """The run's ledger when its verdict begins so."""
    cluster.until(lambda: (found := ledger(cluster.storage, experiment)) and found.verdict.startswith(verdict), f"{experiment}: {verdict}")
    found = ledger(cluster.storage, experiment)
    assert found is not None
    return found


def received(cluster: Cluster, experiment: str) -> dict[str, int]:
    """Host → records that the bridge has of it."""
    found = ledger(cluster.storage, experiment)
    counts: dict[str, int] = {}
    for producer in found.producers if found else ():
        if producer.received:
            counts[producer.host] = counts.get(producer.host, 0) + producer.received
    return counts


def test_ranks_nodes_and_clocks(cluster: Cluster, wrong_clock: dict[str, str]) -> None:
    """Every record of every rank arrives once; the ledger knows ranks and hosts, and names the host whose clock is an hour ahead."""
    cluster.train("clocks", ("node-a", "node-b"), range(4), 4, steps=3, seconds=0.1, shifted=wrong_clock)
    found = finished(cluster, "clocks")
    check_whole(cluster.storage, found, range(4), steps=3)
    assert {(producer.rank, producer.host) for producer in found.producers} == RANKS
    offsets = {line.host: (line.producers, line.clock_offset) for line in found.hosts}
    assert offsets["node-a"] == (2, pytest.approx(0, abs=60))
    assert offsets["node-b"] == (2, pytest.approx(-AHEAD, abs=60))
    (note,) = [note for note in found.notes if "the clock of node-b" in note]
    assert note.endswith("s ahead of the bridge's")


def test_a_rank_that_never_reports(cluster: Cluster) -> None:
    """It is named, and what the others recorded is there all the same."""
    cluster.train("silent", ("node-a", "node-b"), range(3), 4, steps=2, seconds=0.1)
    # The last heartbeats and the spans travel in different queues, and the former may be first: until then the spans are missing too.
    found = finished(cluster, "silent", "incomplete: trainer rank 3 of 4 was never heard of")
    assert found.unheard == ["trainer rank 3 of 4"]
    assert (found.missing, found.dropped) == (0, 0)


def test_a_gateway_that_leaves_the_name(gateways: NamedGateways) -> None:
    """Of two gateways behind one name one dies and its address goes: its share moves to the other one, to the last record."""
    steps, cluster = 20, gateways.cluster
    cluster.train("named", ("balancer",), range(2), 2, steps=steps, seconds=0.5)
    cluster.until(lambda: all(gateways.accepted(name) for name in GATEWAYS), "a gateway gets nothing")
    gateways.kill("gateway-2")
    taken = gateways.accepted("gateway-1")
    gateways.name("gateway-1")
    cluster.until(lambda: cluster.trained("named"), "the job does not end")
    cluster.until(lambda: gateways.queued() == 0, "what waits does not move to the living gateway")
    assert gateways.accepted("gateway-1") > taken
    # What it had taken and not handed on is on its disk, whatever its name.
    gateways.start("gateway-2")
    found = finished(cluster, "named")
    check_whole(cluster.storage, found, range(2), steps)
    check_mlflow(cluster.storage, found, range(2), steps)


def test_a_node_without_a_cable_for_a_minute(cluster: Cluster, cut_off: CutOff) -> None:
    """The other node's records arrive to the last one meanwhile; with the cable in again nothing is missing and nothing came twice."""
    cluster.until(lambda: cut_off.mended, "the minute is not over")
    found = finished(cluster, "cut")
    print(f"complete {time.monotonic() - cut_off.mended:.1f} s after the return, as seen now")
    before = cut_off.before
    assert before is not None
    assert before.verdict != "complete"
    assert done(before) == {"node-a"}
    assert found.received > before.received
    check_whole(cluster.storage, found, range(4), LONG)
    check_mlflow(cluster.storage, found, range(4), LONG)


def test_nobody_minds_being_asked_whether_it_lives(cluster: Cluster) -> None:
    """In all that time no gateway and no bridge has closed a connection because it was asked too often."""
    logs = {path.relative_to(cluster.folder): path.read_text(errors="replace") for path in cluster.folder.rglob("service-*.log")}
    assert logs
    assert [str(path) for path, text in logs.items() if "too_many_pings" in text] == []


def done(found: RunLedger) -> set[str]:
    """Hosts of which all processes said that they have ended, and everything they wrote is there."""
    missing = {producer.host for producer in found.producers if not producer.final or producer.missing}
    return {producer.host for producer in found.producers} - missing
