"""Canary: what MLflow does not promise and the backend stands on still holds for the installed version."""

from __future__ import annotations

import shutil
from importlib.metadata import version
from pathlib import Path

import pytest

from rollscope_exporters.backends.mlflow._compat import SUPPORTED, TraceStore
from rollscope_exporters.backends.mlflow._info import assessments, trace_id_of, trajectory_info
from rollscope_exporters.backends.mlflow._otlp import to_otlp
from rollscope_exporters.testing import Sampler

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")  # MLflow's own


@pytest.fixture
def store(tmp_path: Path, mlflow_store: Path) -> TraceStore:
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    return TraceStore(f"sqlite:///{tmp_path / 'mlflow.db'}")


def test_the_installed_version_is_one_of_those_checked() -> None:
    """The range in `_compat` covers the installed MLflow."""
    from packaging.specifiers import SpecifierSet

    assert version("mlflow-skinny") in SpecifierSet(SUPPORTED)


def test_information_is_merged_and_assessments_by_their_id(store: TraceStore) -> None:
    """Written twice, a trace's assessments are there once; one more reward adds one; tags and metadata are merged."""
    trajectory = Sampler().trajectory()
    for _ in range(2):
        store.upsert_infos([trajectory_info(trajectory, "some-run", "0")])
    name = trace_id_of(trajectory.id)
    info = store.infos([name])[name]
    assert [item.name for item in info.assessments] == ["reward", "reward.format", "reward.answer"]
    info.assessments = assessments(trajectory.id, Sampler().late(trajectory).rewards)
    info.tags["more"] = "yes"
    store.upsert_infos([info])
    merged = store.infos([name])[name]
    assert {item.name for item in merged.assessments} == {"reward", "reward.format", "reward.answer", "judge"}
    assert merged.tags["more"] == "yes"
    assert merged.tags["rl.group.id"] == "task-1"
    assert merged.trace_metadata["mlflow.sourceRun"] == "some-run"
    assert (merged.request_preview, merged.state) == (info.request_preview, info.state)


def test_spans_are_replaced_and_unknown_traces_are_not_invented(store: TraceStore) -> None:
    """A span written twice is there once, and information on a trace that does not exist is nothing."""
    trajectory = Sampler().trajectory()
    spans = [to_otlp(span, span.name, span.attributes, 1000) for span in trajectory.spans]
    store.send_spans("0", spans)
    store.send_spans("0", spans[:2])
    names = [trace_id_of(trajectory.id), trace_id_of("f" * 32)]
    assert list(store.infos(names)) == names[:1]
