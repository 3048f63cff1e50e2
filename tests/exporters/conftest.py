"""What tests of the bridge share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.exporters.bridge import Bridge


@pytest.fixture
def bridge(tmp_path: Path) -> Bridge:
    """Return the pipeline over a store of its own."""
    return Bridge(tmp_path)
