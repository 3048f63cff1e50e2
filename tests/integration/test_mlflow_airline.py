"""The airline conversations come out of MLflow as they went in."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Sampler, deliver
from tests.airline import as_trajectory, load_conversations
from tests.exporters.backends.readers import all_traces, conversation_of
from tests.fixtures.mlflow_server import MlflowServer

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning"),  # MLflow's own
]


@pytest.mark.parametrize("where", ["sqlite", "server"])
def test_every_message_comes_back_letter_by_letter(where: str, mlflow_store: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """48 conversations: every message and tool call in order, under its group and trial, with reward and histories."""
    from mlflow import MlflowClient

    conversations = load_conversations()
    if where == "server":
        server: MlflowServer = request.getfixturevalue("mlflow_server")
        uri = server.uri
    else:
        shutil.copy(mlflow_store, tmp_path / "mlflow.db")
        uri = f"sqlite:///{tmp_path / 'mlflow.db'}"
    sampler = Sampler(f"airline-{where}", project=f"airline-{where}", agent="airline")
    backend = MlflowBackend(MlflowConfig(tracking_uri=uri), tmp_path, {})
    trajectories = [as_trajectory(conversation, sampler) for conversation in conversations]
    assert deliver(backend, [sampler.started(), *trajectories]) == []

    client = MlflowClient(uri)
    experiment = client.get_experiment_by_name(sampler.project)
    assert experiment is not None
    run = client.search_runs([experiment.experiment_id])[0].info.run_id
    traces = {trace.info.trace_id: trace for trace in all_traces(client, experiment.experiment_id, run)}
    assert len(traces) == len(conversations)
    for conversation, trajectory in zip(conversations, trajectories, strict=True):
        trace = traces[f"tr-{trajectory.id}"]
        assert conversation_of(trace) == conversation.messages
        assert trace.info.tags["rl.group.id"] == conversation.group
        assert trace.info.tags["rl.trajectory.index"] == str(conversation.trial)
        assert [item.feedback.value for item in trace.info.assessments if item.name == "reward"] == [conversation.reward]
        chats = {span.span_id: span for span in trace.data.spans if span.span_type == "CHAT_MODEL"}
        for generation in trajectory.generations:
            assert chats[generation.span_id].inputs["messages"] == generation.input
            assert chats[generation.span_id].outputs["choices"][0]["message"] == generation.output[0]
