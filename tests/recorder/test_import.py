"""Tests of what importing costs: nothing heavy comes along of its own accord."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("asyncio", "google", "grpc", "importlib.metadata", "mlflow", "numpy", "opentelemetry.sdk", "pydantic", "torch", "urllib3", "wandb")


@pytest.mark.parametrize("module", ["rollscope", "rollscope.recorder"])
def test_no_heavy_module_is_imported(module: str) -> None:
    """No tracker, no gRPC, no numpy, no SDK: they are loaded where they are asked for."""
    program = f"import sys, {module}; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
