"""Start `rollscope up` and look at what it started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import psutil
import urllib3

CONFIGURATIONS = Path(__file__).parents[3] / "collector-config"
FREE = "127.0.0.1:0"


def started(tmp_path: Path, *options: str, rows: int, **env: str) -> tuple[subprocess.Popen[str], dict[str, str]]:
    """Start `rollscope up` and read the rows of its table."""
    command = [
        sys.executable,
        "-m",
        "rollscope_exporters.cli",
        "up",
        "--storage",
        str(tmp_path / "storage"),
        "--grpc",
        FREE,
        "--http",
        FREE,
    ]
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=tmp_path, env={**os.environ, **env}
    )
    assert process.stdout
    return process, {line[:11].strip(): line[12:].strip() for line in (process.stdout.readline() for _ in range(rows))}


def answers(pool: urllib3.PoolManager, url: str) -> bool:
    """Whether a page is there."""
    try:
        return pool.request("GET", url, timeout=2).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def mlflow_pages(parent: int) -> list[psutil.Process]:
    """Processes of MLflow's server right below `parent`."""
    return [child for child in psutil.Process(parent).children() if "mlflow" in child.cmdline()]
