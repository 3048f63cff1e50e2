"""The end of a run: its ledger, and where to look at it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_LOOK = """
Where to look
  scalars and trajectories  {bin}mlflow ui --backend-store-uri sqlite:///{storage}/mlflow.db
  one line a step           {storage}/console.log
  everything, as JSON       {storage}/jsonl/
  the ledger again          {bin}rollscope ledger --storage {storage}
  the worst of a step       docs/mlflow.md, "Finding a trajectory"
"""


def where_to_look(storage: Path, wait: float) -> int:
    """Wait for delivery, print the ledger and the places; returns the ledger's exit code (0: complete)."""
    print(f"trained; waiting up to {wait:.0f} s for MLflow to have everything", flush=True)
    command = [sys.executable, "-m", "rollscope_exporters.cli", "ledger", "--storage", str(storage), "--wait", str(wait)]
    code = subprocess.run(command, env={"COLUMNS": "140", **os.environ}, check=False).returncode
    if code:
        print(f"\nNot complete after {wait:.0f} s. `delivering` is no loss: it goes on in the background.")
    print(_LOOK.format(storage=_short(storage), bin=_bin()))
    return code


def _short(path: Path) -> Path:
    """Relative to the working directory where that is shorter to read."""
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


def _bin() -> str:
    """Folder of this environment's programs; `make` runs in one that the reader's shell does not know."""
    return f"{Path(sys.executable).parent}/" if sys.prefix != sys.base_prefix else ""
