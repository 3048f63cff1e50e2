"""What the bare install costs a training process."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toml import tomllib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
HEAVY = ("mlflow", "wandb", "swanlab", "grpc", "torch", "numpy", "pandas", "pydantic", "starlette", "rollscope_exporters")


def names(requirements: list[str]) -> set[str]:
    """Distribution names of requirement lines."""
    return {re.split(r"[\[<>=!~ ;]", line, maxsplit=1)[0] for line in requirements}


def test_the_bare_install_has_at_most_six_dependencies_and_no_tracker() -> None:
    """Six direct dependencies, none of them a tracker, grpc or an array library."""
    direct = names(PROJECT["dependencies"])
    assert len(direct) <= 6
    assert not direct & {"mlflow", "mlflow-skinny", "wandb", "swanlab", "grpcio", "torch", "numpy"}


def test_the_extras_are_there() -> None:
    """The extras that the documentation names exist."""
    assert {"bridge", "mlflow", "wandb", "swanlab", "grpc", "dev", "all"} <= PROJECT["optional-dependencies"].keys()


@pytest.mark.parametrize("extra", ["", "import rollscope.journal"])
def test_importing_rollscope_pulls_nothing_heavy(extra: str) -> None:
    """A fresh interpreter that imports rollscope has no tracker, grpc, torch or numpy loaded."""
    code = f"import rollscope, sys\n{extra}\nprint(*sorted({{name.partition('.')[0] for name in sys.modules}} & set({HEAVY!r})))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == ""


def test_every_constraint_for_a_direct_requirement_allows_it() -> None:
    """Each direct requirement of the extras that `make` installs has a version in the constraints."""
    constrained = names((ROOT / "requirements/constraints.txt").read_text(encoding="utf-8").splitlines())
    extras = PROJECT["optional-dependencies"]
    wanted = names(PROJECT["dependencies"] + [line for lines in extras.values() for line in lines]) - {"rollscope"}
    assert {name.lower() for name in wanted} <= constrained
