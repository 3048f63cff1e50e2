"""The command itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollscope_exporters.cli import main

from .commands import rollscope


def test_it_runs_as_a_module(tmp_path: Path) -> None:
    """`python -m rollscope_exporters.cli` is the command."""
    assert rollscope("--version", cwd=tmp_path).stdout.startswith("rollscope 0.")


@pytest.mark.parametrize("command", ["up", "bridge", "ship", "ledger", "config", "journal"])
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` says what it does."""
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"rollscope {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["config"], ["journal", "ls"], ["ledger", "--wait", "long"]])
def test_what_it_does_not_understand_is_an_error(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """With exit code 2."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: rollscope" in capsys.readouterr().err


@pytest.mark.parametrize("value", ["nan", "inf", "-1", "soon"])
@pytest.mark.parametrize("command", [["ledger", "--wait"], ["ship", "folder", "--timeout"]])
def test_seconds_are_a_number_that_time_reaches(command: list[str], value: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A wait for ever, or for no time at all, is a slip of the pen."""
    with pytest.raises(SystemExit):
        main([*command, value])
    assert f"invalid seconds value: {value!r}" in capsys.readouterr().err


def test_folders_that_cannot_be_used_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With what to do, and nothing is made where only something was to be sent."""
    (tmp_path / "file").touch()
    assert main(["bridge", "--storage", str(tmp_path / "file")]) == 2
    assert "file is no folder that can be written (File exists). Set `storage`, --storage or ROLLSCOPE_STORAGE" in capsys.readouterr().err
    assert main(["ship", str(tmp_path / "file"), "--once"]) == 2
    assert "file is no folder that can be written (File exists); name a node folder" in capsys.readouterr().err
    assert main(["ship", str(tmp_path / "none"), "--once"]) == 2
    assert "none; name a node folder" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
