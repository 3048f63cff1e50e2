"""What all tests share; fixtures stand in `tests/fixtures`, one file per server."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(Path(__file__).parent.parent))

_FIXTURES = ("mlflow_server", "postgres", "mariadb", "s3", "mlflow_company", "chromium", "collector", "small_disk")
"""Files below `fixtures`; one that another imports from stands before it."""

pytest_plugins = ["rollscope.testing.plugin", "tests.distribution", *(f"tests.fixtures.{name}" for name in _FIXTURES)]

# How fast the machine is decides nothing.
settings.register_profile("any speed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any speed")


@pytest.fixture(autouse=True)
def _own_environment() -> Iterator[None]:
    """Undo what a test, or a backend it ran in its own process, did to the environment: a proxy, for one, would stay for all others."""
    before = dict(os.environ)
    yield
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)
