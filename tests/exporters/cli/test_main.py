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
