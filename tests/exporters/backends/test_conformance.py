"""Every backend of ours against the suite that others run on theirs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import ClassVar

import pytest

from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.readers import read_console, read_jsonl, read_mlflow


class TestJsonl(BackendConformance):
    """JSONL files."""

    backend = "rollscope_exporters.backends.jsonl:JsonlBackend"

    def read(self, storage: Path, run: str) -> Contents:
        return read_jsonl(storage / "jsonl", run)


class TestJsonlWithRotation(TestJsonl):
    """JSONL files that rotate all the time."""

    config: ClassVar[dict[str, object]] = {"rotate_bytes": 4096}


class TestConsole(BackendConformance):
    """The console, as far as a line a step can be read back."""

    backend = "rollscope_exporters.backends.console:ConsoleBackend"

    def read(self, storage: Path, run: str) -> Contents:
        return read_console(storage / "console.log", run)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::ResourceWarning")  # MLflow's own
class TestMlflow(BackendConformance):
    """MLflow over an SQLite file."""

    backend = "rollscope_exporters.backends.mlflow:MlflowBackend"

    @pytest.fixture(autouse=True)
    def _ready_store(self, tmp_path: Path, mlflow_store: Path) -> None:
        """A store whose tables are made already: MLflow takes seconds for that."""
        shutil.copy(mlflow_store, tmp_path / "mlflow.db")

    def read(self, storage: Path, run: str) -> Contents:
        return read_mlflow(f"sqlite:///{storage / 'mlflow.db'}", run)

    @pytest.mark.parametrize("cut", [5])
    def test_survives_a_kill(self, tmp_path: Path, cut: int) -> None:
        """As in the suite, at one place only: each death costs an import of MLflow."""
        super().test_survives_a_kill(tmp_path, cut)
