"""MLflow is imported without what only others would use of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope_exporters.backends.mlflow._lean import UNUSED

WORKER = "rollscope_exporters.worker.__main__"
PROGRAM = """
import sys
from importlib.util import find_spec
from pathlib import Path
from rollscope_exporters.backends.mlflow import MlflowBackend, MlflowConfig
from rollscope_exporters.testing import Sampler, deliver
{before}
backend = MlflowBackend(MlflowConfig(), Path.cwd(), {{}})
assert deliver(backend, Sampler().everything()) == []
backend.checkpoint()
backend.close()
{after}
"""
AS_WORKER = f"sys.modules['__main__'].__spec__ = find_spec('{WORKER}'); assert find_spec('{WORKER}')"
NOTHING = f"assert not {set(UNUSED)} & sys.modules.keys()"
DATA = "from mlflow.data import pandas_dataset"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(AS_WORKER, f"{NOTHING}; import pandas, pyarrow, scipy", id="worker"),
        pytest.param(f"{AS_WORKER}; import pandas", DATA, id="worker of somebody who uses pandas"),
        pytest.param("", f"{DATA}; import mlflow; mlflow.data.from_pandas; mlflow.pyfunc", id="another process"),
    ],
)
def test_what_delivery_does_not_use_is_not_loaded(before: str, after: str, mlflow_store: Path, tmp_path: Path) -> None:
    """A worker loads nothing of it, and could still; a program that uses the backend itself has all of MLflow."""
    for name in UNUSED:
        pytest.importorskip(name)
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    program = PROGRAM.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
