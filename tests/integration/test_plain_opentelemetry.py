"""A plain OpenTelemetry program is a first-class source."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mlflow import MlflowClient

from tests.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
PROGRAM = Path(__file__).with_name("plain_program.py")


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Iterator[Path]:
    """The storage folder of a running bridge that delivers to MLflow."""
    folder = tmp_path_factory.mktemp("bridge")
    shutil.copy(mlflow_store, folder / "mlflow.db")
    config = folder / "rollscope.yaml"
    config.write_text(f"storage: {folder}\nlisten: {{grpc: '127.0.0.1:0', http: '127.0.0.1:0'}}\nbackends: {{mlflow: {{}}, jsonl: {{}}}}\n")
    bridge = subprocess.Popen([sys.executable, "-m", "rollscope_exporters.cli", "bridge", "--config", str(config)], cwd=folder)
    try:
        until(lambda: (folder / "bridge.json").exists(), say="the bridge to listen")
        yield folder
    finally:
        bridge.terminate()
        bridge.wait(timeout=300)


@pytest.fixture(scope="module", params=["grpc", "http"])
def experiment(request: pytest.FixtureRequest, storage: Path) -> tuple[MlflowClient, str]:
    """MLflow and the id of the experiment, after the program ran with the exporter of one protocol."""
    protocol = request.param
    address = json.loads((storage / "bridge.json").read_text())[protocol]
    subprocess.run([sys.executable, str(PROGRAM), protocol, address if "://" in address else f"http://{address}"], check=True, timeout=300)
    client = MlflowClient(tracking_uri=f"sqlite:///{storage}/mlflow.db")
    found = until(lambda: client.get_experiment_by_name(f"plain-{protocol}"), say="the experiment")
    return client, found.experiment_id


def test_metrics_become_metrics_of_a_run(experiment: tuple[MlflowClient, str]) -> None:
    """Each value of a gauge and of a counter is a point of a run named after the service."""
    client, place = experiment
    run = until(lambda: client.search_runs([place]), say="the run")[0]
    history = until(lambda: points(client, run.info.run_id, "loss", 3), say="three points of the gauge")
    assert [point.value for point in history] == pytest.approx([1.0, 0.5, 1 / 3])
    assert [point.value for point in points(client, run.info.run_id, "requests", 3)] == [1, 2, 3]


def points(client: MlflowClient, run: str, name: str, least: int) -> list[Any]:
    """History of a metric in order of time, empty while there are fewer than `least` points."""
    history = sorted(client.get_metric_history(run, name), key=lambda point: point.timestamp)
    return history if len(history) >= least else []


def test_spans_become_traces(experiment: tuple[MlflowClient, str]) -> None:
    """A trace arrives with its spans, their parents, attributes and events."""
    client, place = experiment
    trace = until(lambda: with_root(client, place, "work"), say="the trace")
    work, inner = sorted(trace.data.spans, key=lambda span: span.start_time_ns)
    assert (work.name, inner.name) == ("work", "inner")
    assert inner.parent_id == work.span_id
    assert work.attributes["answer"] == 42
    assert [event.name for event in inner.events] == ["half way"]


def test_gen_ai_spans_become_a_conversation(experiment: tuple[MlflowClient, str]) -> None:
    """An `invoke_agent` span of a foreign program is read as a trajectory with its messages."""
    client, place = experiment
    trace = until(lambda: with_root(client, place, "invoke_agent helper"), say="the trajectory")
    text = json.dumps([span.inputs for span in trace.data.spans] + [span.outputs for span in trace.data.spans], ensure_ascii=False)
    assert "How high is 泰山?" in text
    assert "1545 m 🏔" in text


def with_root(client: MlflowClient, place: str, name: str) -> Any:
    """The trace whose root span has this name."""
    traces = client.search_traces(locations=[place])
    return next((trace for trace in traces if any(span.name == name and not span.parent_id for span in trace.data.spans)), None)
