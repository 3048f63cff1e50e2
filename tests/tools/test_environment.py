"""The environment behind `make`."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools import constraints, environment


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache folder of the test's own."""
    monkeypatch.setenv("ROLLSCOPE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """Commands that a build would run; `uv venv` makes the folder it names."""
    ran: list[tuple[str, ...]] = []

    def run(*command: str) -> None:
        ran.append(command)
        if command[1] == "venv":
            (Path(command[-1]) / "bin").mkdir(parents=True)

    monkeypatch.setattr(environment, "_run", run)
    return ran


def test_what_was_built_is_used_again(cache: Path, commands: list[tuple[str, ...]]) -> None:
    """The second call finds the environment of the first and runs nothing; nothing but it and its lock is left behind."""
    first = environment.ensure("dev")
    built = len(commands)
    assert environment.ensure("dev") == first
    assert len(commands) == built
    assert sorted(path.name for path in cache.iterdir()) == [first.name, f"{first.name}.lock"]


def test_an_interrupted_set_up_leaves_no_environment(cache: Path, commands: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """When the last command fails there is no environment, and the next call builds one."""
    working = environment._run

    def failing(*command: str) -> None:
        working(*command)
        if "--editable" in command:
            raise subprocess.CalledProcessError(1, list(command))

    monkeypatch.setattr(environment, "_run", failing)
    with pytest.raises(subprocess.CalledProcessError):
        environment.ensure("dev")
    assert not list(cache.glob("env-????????????????"))

    monkeypatch.setattr(environment, "_run", working)
    assert environment.ensure("dev").is_dir()


def test_where_uv_cannot_pip_does(commands: list[tuple[str, ...]], monkeypatch: pytest.MonkeyPatch) -> None:
    """When uv fails to install, the same is asked of pip."""
    working = environment._run

    def failing(*command: str) -> None:
        working(*command)
        if command[0].endswith("uv") and "--editable" in command:
            raise subprocess.CalledProcessError(2, list(command))

    monkeypatch.setattr(environment, "_run", failing)
    assert environment.ensure("dev").is_dir()
    assert commands[-1][0].endswith("pip")
    assert commands[-1][-1].endswith("[dev]")


def test_uv_is_told_what_pip_knows() -> None:
    """pip's index and wheel folders reach uv under its own names, and what is set for uv itself goes first."""
    told = environment.uv_environment({"PIP_INDEX_URL": "a", "PIP_FIND_LINKS": "b", "UV_FIND_LINKS": "c"})
    assert (told["UV_DEFAULT_INDEX"], told["UV_FIND_LINKS"]) == ("a", "c")
    assert told["UV_SYSTEM_CERTS"] == "1"


def test_the_key_follows_what_is_asked_for(tmp_path: Path) -> None:
    """Another extra, other requirements or another checkout give another environment."""
    copies = [tmp_path / "one", tmp_path / "two"]
    for copy in copies:
        (copy / "requirements").mkdir(parents=True)
        for name in ("pyproject.toml", "requirements/constraints.txt"):
            shutil.copy(environment.ROOT / name, copy / name)
    keys = {environment.environment_key("dev", copies[0]), environment.environment_key("demo", copies[0])}
    keys.add(environment.environment_key("dev", copies[1]))
    with (copies[1] / "requirements/constraints.txt").open("a") as file:
        file.write("another==1\n")
    keys.add(environment.environment_key("dev", copies[1]))
    assert len(keys) == 4


def test_remove_takes_this_checkouts_environments_only(cache: Path, commands: list[tuple[str, ...]]) -> None:
    """Environments of other checkouts stay."""
    mine = environment.ensure("dev")
    other = cache / "env-other"
    other.mkdir()
    (other / "checkout").write_text("/somewhere/else")
    environment.remove()
    assert not mine.exists()
    assert other.exists()


def test_constraints_mark_pins_and_carry_their_reasons() -> None:
    """A pinned version is marked, its reason stands at the top, and versions for other systems are left out."""
    pins = "# about\n# this file\n\n# because of that\na==1\nb<2\n"
    resolved = "a==1\nb==1.9\nc==3\nd==4 ; sys_platform == 'win32'\n"
    text = constraints.compose(resolved, pins)
    assert text.endswith("a==1  # pinned\nb==1.9  # pinned\nc==3\n")
    assert "# because of that" in text
    assert "# this file" not in text
