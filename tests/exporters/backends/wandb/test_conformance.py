"""The suite that every backend must pass, on offline folders."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest

from rollscope_exporters.backends.wandb._compat import abandon_client
from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.wandb.folders import read_folders

pytestmark = pytest.mark.integration


class TestWandb(BackendConformance):
    """W&B's offline folders, read back by its own inspector."""

    backend = "rollscope_exporters.backends.wandb:WandbBackend"
    config: ClassVar[dict[str, object]] = {"mode": "offline", "flush_interval": 0.05}

    @pytest.fixture(autouse=True)
    def _no_open_run(self) -> Iterator[None]:
        """A test that fails leaves its run open in the library, which all tests share."""
        yield
        abandon_client()

    def read(self, storage: Path, run: str) -> Contents:
        return read_folders(storage, run)
