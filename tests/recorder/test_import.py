"""Tests of what importing costs: nothing heavy comes along of its own accord."""

from __future__ import annotations

import os
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


RUN = ("rollscope.recorder.starting", "rollscope.journal", "rollscope.settings", "rollscope.launchers")
BESIDE = ("pathlib", "hashlib", "_hashlib", "opentelemetry.baggage", "rollscope.checkpoint", "json", "difflib", "dataclasses")


def loaded(program: str, **env: str) -> set[str]:
    program = f"import sys; {program}; print(*sys.modules)"
    clean = {name: text for name, text in os.environ.items() if not name.startswith("ROLLSCOPE_")}
    return set(
        subprocess.run([sys.executable, "-c", program], env={**clean, **env}, capture_output=True, text=True, check=True).stdout.split()
    )


def test_what_only_a_run_needs_is_imported_with_init() -> None:
    """A process without a run imports no journal, no settings, and nothing that few calls need; `rollscope.init` brings the former."""
    assert loaded("import rollscope; rollscope.log({}); rollscope.finish()") & {*RUN, *BESIDE} == set()
    assert loaded("import rollscope; rollscope.init") >= set(RUN)


def test_a_worker_imports_it_at_once() -> None:
    """Its first record need not wait for imports."""
    assert loaded("import rollscope", ROLLSCOPE_RUN_ID="abc") >= set(RUN)
