"""A run from the recorder to a company's MLflow, its worker killed on the way: everything is there once, and no secret anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.exporters.backends.readers import all_traces, conversation_of
from tests.exporters.supervisor.bridges import RunningBridge
from tests.fixtures.mlflow_company import PASSWORD, CompanyMlflow
from tests.waiting import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.reliability,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]
PROGRAM = Path(__file__).with_name("company_program.py")
STEPS = 6
SHARD = b"weights" * 40_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, company_mlflow: CompanyMlflow) -> Iterator[Path]:
    """A folder with journal and storage of a bridge, after a run went through and its worker was killed three times."""
    folder = tmp_path_factory.mktemp("company")
    checkpoint = folder / "policy"
    checkpoint.mkdir()
    (checkpoint / "config.json").write_bytes(b"{}")
    (checkpoint / "weights.bin").write_bytes(SHARD)
    settings = {"MLFLOW__REGISTER_MODELS": "true", "MLFLOW__REGISTERED_MODEL": "airline-policy"}
    environment = {f"ROLLSCOPE__BACKENDS__{name}": value for name, value in settings.items()} | company_mlflow.environment
    environment |= {"ROLLSCOPE__ARTIFACTS__MODELS": "upload", "ROLLSCOPE__WORKERS__BATCH_ROWS": "5", "ROLLSCOPE__BACKENDS__COUNTING": ""}
    bridge = RunningBridge(folder / "storage", **environment).start()
    try:
        record(folder, bridge.url, checkpoint)
        for rows in (1, 12):
            kill_worker(bridge, lambda rows=rows: position(bridge) >= rows)  # type: ignore[misc]
        kill_worker(bridge, lambda: upload_done(bridge))
        command = [sys.executable, "-m", "rollscope_exporters.cli", "ledger", "--storage", str(bridge.storage), "--wait", "120", "--json"]
        (folder / "ledger.json").write_bytes(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
        yield folder
    finally:
        bridge.end()


def record(folder: Path, endpoint: str, checkpoint: Path) -> None:
    """Run the program; it returns when all is in the journal, and its shipper goes on."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
    variables = {"ROLLSCOPE_DIR": str(folder / "journal"), "ROLLSCOPE_ENDPOINT": endpoint, "ROLLSCOPE_SHIPPER_GRACE": "0.5"}
    subprocess.run([sys.executable, str(PROGRAM), str(checkpoint), str(STEPS)], env=kept | variables, check=True, timeout=300)


def position(bridge: RunningBridge) -> int:
    """How far MLflow's worker is, in rows of the outbox."""
    path = bridge.storage / "backends" / "mlflow" / "position.json"
    return int(json.loads(path.read_bytes())["position"]) if path.exists() else 0


def upload_done(bridge: RunningBridge) -> bool:
    """Whether the first file of the checkpoint is in MLflow."""
    return any(json.loads(path.read_bytes())["done"] for path in (bridge.storage / "uploads").rglob("*.json"))


def kill_worker(bridge: RunningBridge, when: Any) -> None:
    """Kill the worker as soon as `when` holds; another one is started."""
    until(when, 120, say=bridge.log)
    os.kill(until(lambda: bridge.child("mlflow").get("pid"), say=bridge.log), signal.SIGKILL)


@pytest.fixture(scope="module")
def client(folder: Path, company_mlflow: CompanyMlflow) -> Any:
    """MLflow's client."""
    before = dict(os.environ)
    yield company_mlflow.client()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(autouse=True)
def _credentials(company_mlflow: CompanyMlflow) -> None:
    company_mlflow.client()


@pytest.fixture
def run(client: Any) -> Any:
    """The run in MLflow: there is one."""
    experiment = client.get_experiment_by_name("company")
    (found,) = client.search_runs([experiment.experiment_id])
    return found


def test_the_ledger_is_complete(folder: Path) -> None:
    """Every record is delivered, none set aside."""
    (run,) = json.loads((folder / "ledger.json").read_bytes())["runs"]
    assert run["verdict"] == "complete"


def test_metrics_params_and_tags(run: Any, company_mlflow: CompanyMlflow) -> None:
    """Each value is one row of PostgreSQL, with its step and the time it was logged; parameters and tags are the run's."""
    statement = f"SELECT key, step, value, timestamp FROM metrics WHERE run_uuid = '{run.info.run_id}' AND key IN ('reward/mean', 'loss')"
    rows = company_mlflow.postgres.ask(statement, "mlflow")
    wanted = [("loss", step, 1.0 / step) for step in range(1, STEPS + 1)] + [
        ("reward/mean", step, 0.5 + step) for step in range(1, STEPS + 1)
    ]
    assert sorted((key, step, value) for key, step, value, _ in rows) == wanted
    assert all(run.info.start_time <= time <= run.info.end_time for *_, time in rows)
    assert run.info.status == "FINISHED"
    assert run.data.params == {"lr": "1e-06", "model.path": "qwen"}
    assert run.data.tags["baseline"] == "true"


def test_trajectories_are_traces_with_assessments(client: Any, run: Any) -> None:
    """Each trajectory is one trace with its conversation, its reward, the components and the judge's late word, each once."""
    traces = all_traces(client, run.info.experiment_id, run.info.run_id)
    rollouts = [trace for trace in traces if "rl.trajectory.outcome" in trace.info.tags]
    assert Counter((trace.info.tags["rl.group.id"], trace.info.tags["rl.trajectory.index"]) for trace in rollouts) == Counter(
        (f"g{step}", str(index)) for step in range(1, STEPS + 1) for index in range(2)
    )
    for trace in rollouts:
        step, index = trace.info.tags["rl.group.id"][1:], trace.info.tags["rl.trajectory.index"]
        assert [message["content"] for message in conversation_of(trace)] == [
            f"Which flights leave on day {step}? 航班",
            f"Number {index}.",
        ]
        given = sorted((item.name, item.feedback.value) for item in trace.info.assessments)
        assert given == [("judge", 0.25), ("reward", float(index)), ("reward.format", 0.5)]
        assert {span.span_type for span in trace.data.spans} == {"AGENT", "CHAT_MODEL", "CHAIN"}


def test_files_lie_in_s3(run: Any, company_mlflow: CompanyMlflow) -> None:
    """Configuration, tables and the checkpoint are objects of the bucket, written by the server for the bridge."""
    prefix = run.info.artifact_uri.replace("mlflow-artifacts:/", "artifacts/")
    names = company_mlflow.s3.names(prefix)
    assert sum("/tables/val/generations/" in name for name in names) == STEPS
    assert json.loads(company_mlflow.s3.content(f"{prefix}/config.json")) == {"lr": 1e-6, "model": {"path": "qwen"}}
    assert company_mlflow.s3.content(f"{prefix}/policy/weights.bin") == SHARD
    assert not any(name.endswith("probe.txt") for name in names)


def test_the_checkpoint_is_one_model_version(client: Any, run: Any) -> None:
    """Though its worker was killed while it uploaded: one version, of this run, under its alias."""
    (version,) = client.search_model_versions("name = 'airline-policy'")
    assert (version.run_id, version.source) == (run.info.run_id, f"{run.info.artifact_uri}/policy")
    assert client.get_model_version_by_alias("airline-policy", "best").version == version.version


def test_no_secret_is_written_down(folder: Path, run: Any, company_mlflow: CompanyMlflow) -> None:
    """Neither in journal, logs, positions and ledger of the bridge nor in what the run says of itself."""
    secrets = [PASSWORD.encode(), company_mlflow.s3.secret.encode()]
    written = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert written
    assert [path for path, content in written.items() for secret in secrets if secret in content] == []
    assert PASSWORD not in repr(run.data.tags) + repr(run.data.params)
