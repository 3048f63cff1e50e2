"""`rollscope config`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from rollscope_exporters.cli import main

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_a_good_configuration_is_good(capsys: Output) -> None:
    """Exit code 0, and which file it was."""
    Path("rollscope.yaml").write_text("storage: ./x\n")
    assert main(["config", "check"]) == 0
    assert capsys.readouterr().out == "rollscope.yaml: good\n"


def test_what_would_fail_on_this_machine_is_a_problem_too(capsys: Output) -> None:
    """A storage that is a file, a function that cannot be imported: the bridge's processes would find them out."""
    Path("x").touch()
    Path("rollscope.yaml").write_text("storage: ./x\nredact: {function: 'nowhere:f'}\n")
    assert main(["config", "check"]) == 2
    error = capsys.readouterr().err
    assert "storage: x is no folder. Name one on a local disk" in error
    assert "redact.function 'nowhere:f' cannot be loaded: ModuleNotFoundError" in error


def test_no_file_is_good_too(capsys: Output) -> None:
    """Defaults and the environment are a configuration."""
    assert main(["config", "check"]) == 0
    assert "defaults" in capsys.readouterr().out


def test_every_problem_is_listed(capsys: Output) -> None:
    """Where, what, and the cure; exit code 2."""
    Path("rollscope.yaml").write_text("storge: ./x\nlimits:\n  inbox: lots\n")
    assert main(["config", "check"]) == 2
    error = capsys.readouterr().err
    assert "rollscope.yaml:1: storge: unknown key. Did you mean 'storage'?" in error
    assert "rollscope.yaml:3: limits.inbox: 'lots' cannot be used" in error


def test_what_is_in_force_is_shown(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """With every default of the backends too, as YAML or JSON; secrets are hidden."""
    monkeypatch.setenv("ROLLSCOPE__BACKENDS__MLFLOW__PASSWORD", "hunter2")
    assert main(["config", "show", "--storage", "here"]) == 0
    text = capsys.readouterr().out
    shown = yaml.safe_load(text)
    assert shown["storage"] == "here"
    assert shown["backends"]["mlflow"]["trajectories_per_step"] == 256
    assert "hunter2" not in text
    assert main(["config", "show", "--storage", "here", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == shown
