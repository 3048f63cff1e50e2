"""TensorBoard against the suite of all backends."""

from __future__ import annotations

from pathlib import Path

from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.tensorboard.reading import read_tensorboard


class TestTensorboard(BackendConformance):
    """Event files."""

    backend = "rollscope_exporters.backends.tensorboard:TensorboardBackend"

    def read(self, storage: Path, run: str) -> Contents:
        return read_tensorboard(storage / "tensorboard", run)
