"""MLflow is imported without what only others would use of it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope_exporters.backends.mlflow._lean import UNUSED

PROGRAM = """
import sys
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


NOTHING = f"assert not {set(UNUSED)} & sys.modules.keys()"
SEARCH = "import pandas, mlflow; mlflow.search_runs(search_all_experiments=True).loc[0]"
DATA = "from mlflow.data import pandas_dataset"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", f"{NOTHING}; {SEARCH}"),
        (f"import mlflow; {DATA} as kept", f"{DATA}; assert kept is pandas_dataset"),
        ("import pandas", DATA),
    ],
)
def test_what_delivery_does_not_use_is_not_loaded(before: str, after: str, mlflow_store: Path, tmp_path: Path) -> None:
    """Nothing of it is in a worker that has delivered; a program that loads it itself, before or after, has it as ever."""
    for name in UNUSED:
        pytest.importorskip(name)
    shutil.copy(mlflow_store, tmp_path / "mlflow.db")
    program = PROGRAM.format(before=before, after=after)
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
