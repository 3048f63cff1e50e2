"""Checkpoints in MLflow: artifacts of the run, and versions of a registered model."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from pydantic import ValidationError

from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Sampler
from tests.exporters.uploads.checkpoints import checkpoint, recorded

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")  # MLflow's own


def opened(storage: Path, store: Path, **config: Any) -> MlflowBackend:
    """A backend over a copy of an empty store."""
    if not (storage / "mlflow.db").exists():
        shutil.copy(store, storage / "mlflow.db")
    return MlflowBackend(MlflowConfig(**config), storage, {})


def test_files_become_artifacts_and_a_version(tmp_path: Path, mlflow_store: Path) -> None:
    """Every file at its place; one version with its aliases, also when the record comes again to another process."""
    place = checkpoint(tmp_path / "ckpt", {"config.json": b"{}", "shards/a.bin": b"x" * 99})
    artifact = recorded(place, aliases=("best",))
    for _ in range(2):
        backend = opened(tmp_path, mlflow_store, register_models=True, registered_model="policy")
        backend.write([Sampler().started(), artifact])
        assert backend._uploads.drain(60)
        backend.close()
    client = backend._connection.client
    run = client.search_runs(backend._connection.all_experiments())[0]
    downloaded = Path(client.download_artifacts(run.info.run_id, "ckpt/step-10"))
    assert (downloaded / "shards" / "a.bin").read_bytes() == b"x" * 99
    (version,) = client.search_model_versions("name = 'policy'")
    assert (version.run_id, version.tags["rollscope.artifact.uid"]) == (run.info.run_id, "u1")
    assert version.source.endswith("/artifacts/ckpt/step-10")
    assert client.get_model_version_by_alias("policy", "best").version == version.version


def test_a_reference_uploads_nothing(tmp_path: Path, mlflow_store: Path) -> None:
    """Unless asked for, the run only says where the checkpoint lies."""
    place = checkpoint(tmp_path / "ckpt", {"config.json": b"{}"})
    backend = opened(tmp_path, mlflow_store)
    backend.write([Sampler().started(), replace(recorded(place), upload=False)])
    backend.close()
    client = backend._connection.client
    run = client.search_runs(backend._connection.all_experiments())[0]
    assert place.as_uri() in run.data.tags["artifact.ckpt/step-10"]
    assert client.list_artifacts(run.info.run_id, "ckpt") == []
    assert not (tmp_path / "uploads").exists()


def test_a_registered_model_needs_a_name() -> None:
    """Asked for without one, the configuration says so."""
    with pytest.raises(ValidationError, match="set registered_model"):
        MlflowConfig(register_models=True)
