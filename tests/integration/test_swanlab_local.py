"""SwanLab's local dashboard: the suite of all backends, its database, and its pages."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.swanlab.reading import experiments, read_swanlab

pytestmark = pytest.mark.integration


class TestSwanlabLocal(BackendConformance):
    """Folders for the local dashboard, and what its database says."""

    backend = "rollscope_exporters.backends.swanlab:SwanlabBackend"
    config: ClassVar[dict[str, object]] = {"mode": "local", "hold_seconds": 0, "tables": "table"}
    many = 300  # 20 ms each in the dashboard's database

    @pytest.fixture(autouse=True)
    def _dashboard(self) -> None:
        pytest.importorskip("swanboard")

    def read(self, storage: Path, run: str) -> Contents:
        root = storage / "swanlog"
        found = read_swanlab(root, run)
        shown = experiments(root)
        assert [entry for entry in shown if entry[0].endswith(f"-{run}")] == [
            (folder.name, found.name) for folder in root.glob(f"run-*-{run}")
        ]
        return found
