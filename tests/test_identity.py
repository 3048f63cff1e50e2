"""Tests of who records."""

from __future__ import annotations

import os

from rollscope import vocabulary as v
from rollscope.identity import Identity, Run
from rollscope.launchers import Place

RUN = Run("run-1", "grpo", "airline", 2)


def test_the_resource_says_run_process_and_place() -> None:
    """Everything a backend groups by is in the resource."""
    identity = Identity(RUN, Place("rollout", 3, 8, 1, 0), "ab" * 8, host="node7", pid=5, extra={"team": "rl"})
    assert identity.resource() == {
        "team": "rl",
        v.SERVICE_NAME: "rollscope",
        v.SERVICE_INSTANCE_ID: "ab" * 8,
        v.HOST_NAME: "node7",
        v.PROCESS_PID: 5,
        v.RUN_ID: "run-1",
        v.RUN_NAME: "grpo",
        v.PROJECT_NAME: "airline",
        v.RUN_ATTEMPT: 2,
        v.WORKER_ROLE: "rollout",
        v.WORKER_RANK: 3,
        v.WORKER_WORLD_SIZE: 8,
        v.WORKER_LOCAL_RANK: 1,
        v.WORKER_NODE_RANK: 0,
        v.PRODUCER_ID: "ab" * 8,
    }


def test_what_is_not_known_is_absent() -> None:
    """No rank is no attribute, not a null."""
    resource = Identity(RUN, Place(), "ab" * 8).resource()
    assert v.WORKER_RANK not in resource
    assert v.WORKER_ROLE not in resource


def test_nothing_from_outside_overrides_identity() -> None:
    """An `OTEL_RESOURCE_ATTRIBUTES` with our names cannot send records to another run."""
    assert Identity(RUN, Place(), "ab" * 8, extra={v.RUN_ID: "other"}).resource()[v.RUN_ID] == "run-1"


def test_a_forked_child_is_another_producer_of_the_same_run() -> None:
    """Producer and pid change, the rest stays."""
    identity = Identity(RUN, Place("rollout"), "ab" * 8, pid=1)
    child = identity.forked("cd" * 8)
    assert (child.producer, child.pid) == ("cd" * 8, os.getpid())
    assert (child.run, child.place, child.host) == (identity.run, identity.place, identity.host)
    assert (child.run.id, child.role, child.rank) == ("run-1", "rollout", None)
