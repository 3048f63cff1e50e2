"""The MLflow backend against a plain server, and what it makes of odd cases over an SQLite file."""

from __future__ import annotations

import json
import logging
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope_exporters.backends import RejectedError, UnavailableError
from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Sampler, deliver, odd_records
from tests.exporters.backends.readers import all_traces, read_mlflow
from tests.fixtures.mlflow_server import MlflowServer
from tests.fixtures.ports import free_port

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]


def test_nobody_answers(tmp_path: Path) -> None:
    """A server that is not there is unavailability that names the address."""
    address = f"http://127.0.0.1:{free_port()}"
    with pytest.raises(UnavailableError, match=re.escape(address)):
        MlflowBackend(MlflowConfig(tracking_uri=address, timeout=2), tmp_path, {})


def test_a_name_the_server_does_not_know(mlflow_server: MlflowServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server called by a host name it was not told of answers 403; the error says which option it wants."""
    import socket

    real = socket.getaddrinfo
    monkeypatch.setattr(socket, "getaddrinfo", lambda host, *rest, **more: real("127.0.0.1" if host == "mlflow" else host, *rest, **more))
    with pytest.raises(UnavailableError, match="--allowed-hosts"):
        MlflowBackend(MlflowConfig(tracking_uri=mlflow_server.uri.replace("127.0.0.1", "mlflow")), tmp_path, {})


@pytest.fixture
def backend(mlflow_store: Path, tmp_path: Path) -> MlflowBackend:
    """A backend over an SQLite file."""
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    return MlflowBackend(MlflowConfig(), tmp_path, {})


def client_and_experiment(backend: MlflowBackend, tmp_path: Path) -> tuple[Any, str]:
    from mlflow import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow.db'}")
    found = client.get_experiment_by_name("samples")
    assert found is not None
    return client, found.experiment_id


def test_traces_can_be_searched(backend: MlflowBackend, tmp_path: Path) -> None:
    """By step, session, run, state, tool and reward, as the documentation of the backend says."""
    sampler = Sampler()
    records = [sampler.started(), sampler.trajectory(7, "g1", 0, reward=0.9), sampler.trajectory(7, "g2", 1, reward=0.1, outcome="failed")]
    deliver(backend, [*records, sampler.trajectory(8, "g1", 0), sampler.trace(7)])
    client, experiment = client_and_experiment(backend, tmp_path)
    run = client.search_runs([experiment])[0].info.run_id

    def count(filter_string: str) -> int:
        return len(client.search_traces(locations=[experiment], filter_string=filter_string))

    assert count("tags.`rl.loop.iteration` = '7'") == 2
    assert count("metadata.`mlflow.trace.session` = 'step-7/g1'") == 1
    assert count("trace.status = 'ERROR'") == 1
    assert count("span.type = 'TOOL'") == 3
    assert count("span.name = 'add'") == 3
    assert count("feedback.reward > 0.5") == 2
    assert count("feedback.reward.format > 0.15") == 2
    assert len(all_traces(client, experiment, run)) == 4


def test_late_facts_and_late_spans_reach_their_trace(backend: MlflowBackend, tmp_path: Path) -> None:
    """A reward from a judge becomes one more assessment, a fact a tag, late text an attribute of its span; twice changes nothing."""
    import msgspec

    sampler = Sampler()
    trajectory = sampler.trajectory(1)
    late = msgspec.structs.replace(sampler.late(trajectory), tokens=trajectory.tokens)
    tool = sampler.span(trajectory.id, "slow_tool", trajectory.spans[0])
    after = msgspec.structs.replace(sampler.trace(), trace_id=trajectory.id, spans=[tool], late=True)
    for _ in range(2):
        assert deliver(backend, [sampler.started(), msgspec.structs.replace(trajectory, tokens=[]), late, after]) == []
    client, _ = client_and_experiment(backend, tmp_path)
    trace = client.get_trace(f"tr-{trajectory.id}")
    assert sorted(item.name for item in trace.info.assessments) == ["judge", "reward", "reward.answer", "reward.format"]
    assert trace.info.tags[v.TRAJECTORY_FILTERED] == "false"
    assert {span.span_id for span in trace.data.spans} == {span.span_id for span in trajectory.spans} | {tool.span_id}
    said = next(span for span in trace.data.spans if span.span_id == trajectory.tokens[0].span_id)
    assert said.attributes["rl.tokens.output.text"] == trajectory.tokens[0].text
    assert said.inputs["messages"] == trajectory.generations[0].input


def test_what_the_budget_leaves_out_is_counted_with_what_belongs_to_it(mlflow_store: Path, tmp_path: Path) -> None:
    """Trajectories over the budget, and facts and spans of theirs that come later, are counted by reason, once."""
    import msgspec

    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    backend = MlflowBackend(MlflowConfig(trajectories_per_step=2), tmp_path, {})
    sampler = Sampler()
    rollouts = [sampler.trajectory(1, f"g{number}", 0, reward=0.5) for number in range(6)]
    after = msgspec.structs.replace(sampler.trace(), trace_id=rollouts[5].id, late=True)
    records = [sampler.started(), *rollouts, sampler.late(rollouts[5]), sampler.late(rollouts[0]), after]
    for _ in range(2):
        deliver(backend, records)
    state = backend.checkpoint()
    assert state["left_out"] == {
        "trajectories_per_step": {"run-1": 4},
        "facts_of_left_out_trajectories": {"run-1": 1},
        "spans_of_left_out_trajectories": {"run-1": 1},
    }
    assert json.loads(json.dumps(state)) == state
    client, experiment = client_and_experiment(backend, tmp_path)
    assert len(client.search_traces(locations=[experiment])) == 2


def test_a_resumed_run_with_a_changed_configuration(backend: MlflowBackend, tmp_path: Path) -> None:
    """Parameters are written once and stay; new ones are added, changed ones named in a tag, the artifact has the new configuration."""
    deliver(backend, [Sampler().started(config={"lr": 1, "old": True}), Sampler().finished("failed", "ValueError: boom")])
    deliver(backend, [Sampler().started(attempt=1, config={"lr": 2, "new": {"a": [1]}})])
    client, experiment = client_and_experiment(backend, tmp_path)
    (run,) = client.search_runs([experiment])
    assert run.data.params == {"lr": "1", "old": "true", "new.a": "[1]"}
    assert json.loads(run.data.tags["rollscope.config.changed"]) == ["lr"]
    assert run.data.tags["rollscope.error"] == "ValueError: boom"
    assert run.info.status == "RUNNING"
    assert json.loads(Path(client.download_artifacts(run.info.run_id, "config.json")).read_text()) == {"lr": 2, "new": {"a": [1]}}
    assert json.loads(Path(client.download_artifacts(run.info.run_id, "circumstances.json")).read_text())["python"] == "3.11"


@pytest.mark.parametrize("successor", [False, True])
def test_a_run_that_is_gone_is_made_again(mlflow_store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture, successor: bool) -> None:
    """Collected by `mlflow gc`, or in a new database: what follows arrives under the old name, also from a successor, and it is said."""
    path = tmp_path / "mlflow.db"
    shutil.copy(mlflow_store, path)
    sampler = Sampler()
    backend = MlflowBackend(MlflowConfig(), tmp_path, {})
    deliver(backend, [sampler.started(), sampler.metrics(1)])
    state = backend.checkpoint()
    if successor:
        backend.close()
        backend = MlflowBackend(MlflowConfig(), tmp_path, state)
    with sqlite3.connect(path) as db:
        for table in ("metrics", "latest_metrics", "params", "tags", "runs", "experiment_tags", "experiments"):
            db.execute(f"DELETE FROM {table}")
    with caplog.at_level(logging.ERROR):
        assert deliver(backend, [sampler.metrics(2), sampler.trajectory(), sampler.finished()]) == []
    backend.close()
    found = read_mlflow(f"sqlite:///{path}", "run-1")
    assert found.metrics
    assert found.trajectories
    assert (found.name, found.status) == (sampler.started().name, "finished")
    assert {step for values in found.metrics.values() for step, *_ in values} == {2}
    assert len(found.trajectories) == 1
    assert "run run-1 is gone from MLflow" in caplog.text


def test_a_run_is_found_by_its_id_never_by_its_name(mlflow_store: Path, tmp_path: Path) -> None:
    """A successor without state goes on in the run with the id; another run of the same name is another run."""
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    for _ in range(2):
        deliver(MlflowBackend(MlflowConfig(), tmp_path, {}), [Sampler("it's one").started(), Sampler("two").started()])
    orphan = MlflowBackend(MlflowConfig(), tmp_path, {})
    deliver(orphan, [Sampler("two").metrics(5)])
    client, experiment = client_and_experiment(orphan, tmp_path)
    runs = client.search_runs([experiment])
    assert len(runs) == 2
    assert {run.info.run_name for run in runs} == {"grpo-demo"}
    assert sorted(len(run.data.metrics) for run in runs) == [0, 3]


def test_infinities_and_texts_of_metrics(backend: MlflowBackend, tmp_path: Path) -> None:
    """NaN is kept, infinities become the largest number as MLflow has it, text becomes a tag."""
    deliver(backend, [Sampler().started(), *odd_records(Sampler())])
    client, experiment = client_and_experiment(backend, tmp_path)
    (run,) = client.search_runs([experiment])
    nan, inf = (client.get_metric_history(run.info.run_id, f"odd/{name}")[0].value for name in ("nan", "inf"))
    assert nan != nan
    assert inf == pytest.approx(1.797e308, rel=1e-3)
    assert run.data.tags["odd/text"].startswith("nul")
    assert run.data.metrics["validation/accuracy"] == 0.5


def test_a_rejected_value_says_why(backend: MlflowBackend, tmp_path: Path) -> None:
    """What MLflow itself refuses comes out as a rejection with its words."""
    with pytest.raises(RejectedError, match="Names may only contain"), backend._connection.guarded():
        backend._connection.client.log_metric(backend._runs.handle("r").run_id, "bad@name", 1.0)
