"""trackio against the suite of all backends."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.testing import Contents
from rollscope_exporters.testing.conformance import BackendConformance
from tests.exporters.backends.trackio.reading import read_trackio


class TestTrackio(BackendConformance):
    """The local database."""

    backend = "rollscope_exporters.backends.trackio:TrackioBackend"

    @pytest.fixture(autouse=True)
    def _no_folder_of_the_user(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("TRACKIO_DIR", raising=False)

    def read(self, storage: Path, run: str) -> Contents:
        return read_trackio(storage / "trackio", run)
