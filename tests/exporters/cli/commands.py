"""Run `rollscope` as a user does."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ..supervisor.bridges import COUNTING


def rollscope(*arguments: object, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command and return what it said."""
    return subprocess.run(
        [sys.executable, "-m", "rollscope_exporters.cli", *map(str, arguments)],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(COUNTING), "COLUMNS": "200", **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
