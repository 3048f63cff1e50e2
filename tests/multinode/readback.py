"""What MLflow itself has of a job, read from its store by its own client, and what the job recorded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pytest
from mlflow import MlflowClient

from rollscope_exporters.ledger import RunLedger
from tests.exporters.backends.readers import all_traces
from tests.multinode.training import GROUP_SIZE

MLFLOW_WARNS = [pytest.mark.filterwarnings(f"ignore::{kind}") for kind in ("DeprecationWarning", "FutureWarning", "ResourceWarning")]
"""Marks for tests that load MLflow, whose own warnings these are."""
SPANS = {"invoke_agent counter": 1, "turn 0": 1, "turn 1": 1, "chat tiny": 2, "count": 2}
"""Spans of one trajectory of `training`, by name."""


def check_mlflow(storage: Path, found: RunLedger, ranks: Iterable[int], steps: int) -> None:
    """Assert that MLflow has one run, each trajectory with each of its spans and its reward once, and each loss once."""
    client = MlflowClient(f"sqlite:///{storage / 'mlflow.db'}")
    experiment = client.get_experiment_by_name("multinode")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id], f"tags.`rollscope.run.id` = '{found.run}'")
    assert run.info.status == "FINISHED"
    losses = [(point.step, point.value) for point in client.get_metric_history(run.info.run_id, "loss")]
    assert sorted(losses) == [(step, 1.0 / step) for step in range(1, steps + 1)]
    traces = all_traces(client, experiment.experiment_id, run.info.run_id)
    trajectories = [trace for trace in traces if "rl.trajectory.outcome" in trace.info.tags]
    groups = Counter(trace.info.tags["rl.group.id"] for trace in trajectories)
    assert groups == {f"rank-{rank}-step-{step}": GROUP_SIZE for rank in ranks for step in range(1, steps + 1)}
    assert len({trace.info.trace_id for trace in traces}) == len(traces)
    for trace in trajectories:
        assert Counter(span.name for span in trace.data.spans) == SPANS
        assert [(item.name, item.feedback.value) for item in trace.info.assessments] == [
            ("reward", float(trace.info.tags["rl.trajectory.index"]))
        ]
