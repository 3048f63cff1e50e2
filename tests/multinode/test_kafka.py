"""Apache Kafka between agent and gateway: the broker goes and comes back, the records do not mind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.multinode.launch import check_whole
from tests.multinode.readback import MLFLOW_WARNS, check_mlflow
from tests.multinode.routes import KafkaRoute, running

pytestmark = [pytest.mark.integration, pytest.mark.reliability, *MLFLOW_WARNS]


@pytest.fixture(scope="module")
def route(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Iterator[KafkaRoute]:
    """The road through Kafka."""
    with running(KafkaRoute, tmp_path_factory.mktemp("kafka"), mlflow_store) as started:
        yield started


def test_more_than_a_message_holds(route: KafkaRoute) -> None:
    """Megabytes of tokens at once come through a broker with the limits it comes with, 1 MiB a message."""
    route.train("large", size=2, steps=2, seconds=0, tokens=20_000)
    check_whole(route.storage, route.finished("large"), range(2), steps=2)


def test_a_broker_that_is_stopped_and_started_under_load(route: KafkaRoute) -> None:
    """What is written meanwhile waits in the relay; in the end each record is in JSONL and MLflow exactly once."""
    steps = 20
    route.train("broker", size=2, steps=steps, seconds=0.4)
    route.wait_for_more("broker")
    route.stop_broker()
    before = route.received("broker")
    route.until(lambda: route.queued("in_metrics") > 0, "nothing waits for the broker")
    route.start("kafka")
    found = route.finished("broker")
    assert found.received > before
    check_whole(route.storage, found, range(2), steps)
    check_mlflow(route.storage, found, range(2), steps)
