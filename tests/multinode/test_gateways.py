"""Two gateways behind the balancer: one dies under load and is missed for a while."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.multinode.launch import check_whole
from tests.multinode.readback import MLFLOW_WARNS, check_mlflow
from tests.multinode.routes import TwoGateways, running

pytestmark = [pytest.mark.integration, pytest.mark.reliability, *MLFLOW_WARNS]


@pytest.fixture(scope="module")
def route(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Iterator[TwoGateways]:
    """Two gateways, each with a queue of its own."""
    with running(TwoGateways, tmp_path_factory.mktemp("gateways"), mlflow_store) as started:
        yield started


def test_a_gateway_that_is_killed_and_stays_away(route: TwoGateways) -> None:
    """Each has its share; the living one's goes on to the last record, the dead one's waits until it is back, and nothing comes twice."""
    steps = 30
    route.train("gateways", size=2, steps=steps, seconds=0.5)
    route.wait_for_more("gateways")
    route.until(lambda: all(route.accepted(port) for port in ("gateway_metrics", "second_metrics")), "a gateway gets nothing")
    route.kill("second")
    taken = route.accepted("gateway_metrics")
    route.until(lambda: all(rank.poll() is not None for rank in route.ranks), "the job does not end")
    route.until(lambda: route.queued("agent_metrics") == 0, "the agent is held up")
    route.until(lambda: route.queued("balancer_metrics", "otlp_grpc/first") == 0, "the living gateway is held up by the dead one")
    assert route.accepted("gateway_metrics") > taken
    assert route.queued("balancer_metrics", "otlp_grpc/second") > 0
    route.start("second")
    found = route.finished("gateways")
    check_whole(route.storage, found, range(2), steps)
    check_mlflow(route.storage, found, range(2), steps)
