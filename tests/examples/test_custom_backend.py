"""The worked example of a backend holds what its page says."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

EXAMPLE = Path(__file__).parents[2] / "examples" / "custom_backend"


def run(*arguments: str, path: str = "") -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(EXAMPLE), path])}
    done = subprocess.run([sys.executable, *arguments], cwd=EXAMPLE, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_passes_the_conformance_suite() -> None:
    """Its own tests pass: the suite with its kills, a rejected record, and one query."""
    assert "passed" in run("-m", "pytest", "-q", "-p", "no:cacheprovider", ".")


def test_it_is_one_short_file() -> None:
    """A backend fits into 200 lines."""
    assert len((EXAMPLE / "rollscope_sqlite.py").read_text().splitlines()) <= 200


def test_its_entry_point_makes_it_known(tmp_path: Path) -> None:
    """Installed, it is found by its name, and its section of the configuration is checked by its own model."""
    entry_point = next(line for line in (EXAMPLE / "pyproject.toml").read_text().splitlines() if line.startswith("sqlite = "))
    installed = tmp_path / "rollscope_sqlite-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: rollscope-sqlite\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(f"[rollscope.backends]\n{entry_point.replace(chr(34), '')}\n")
    program = (
        "from rollscope_exporters.settings import backend_class, backend_config\n"
        "print(backend_class('sqlite').__name__, backend_config('sqlite', {'path': 'a.db'}).path)"
    )
    assert run("-c", program, path=str(tmp_path)).split() == ["SqliteBackend", "a.db"]
