"""The memory recorder as a pytest fixture: `pytest_plugins = ["rollscope.testing.plugin"]`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .memory import Memory, memory_recorder

__all__ = ["rollscope_memory"]


@pytest.fixture
def rollscope_memory() -> Iterator[Memory]:
    """Record into memory during the test."""
    with memory_recorder() as memory:
        yield memory
