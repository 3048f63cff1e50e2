"""SwanLab against the suite of all backends."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.swanlab.reading import read_swanlab


class TestSwanlabOffline(BackendConformance):
    """Offline folders."""

    backend = "rollscope_exporters.backends.swanlab:SwanlabBackend"
    config: ClassVar[dict[str, object]] = {"mode": "offline", "hold_seconds": 0}

    def read(self, storage: Path, run: str) -> Contents:
        return read_swanlab(storage / "swanlog", run)
