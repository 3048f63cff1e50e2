"""Tests of what it takes to repeat a run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rollscope import circumstances


def git(*arguments: str) -> None:
    author = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    subprocess.run(["git", *arguments], check=True, capture_output=True, env={**os.environ, **author})


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    git("init", "-q")
    (tmp_path / "train.py").write_text("lr = 1\n")
    git("add", ".")
    git("commit", "-qm", "first")
    return tmp_path


def test_the_quick_part_says_command_python_packages_and_host(monkeypatch: pytest.MonkeyPatch) -> None:
    """What lies at hand, with the secrets of the command line masked."""
    monkeypatch.setattr(sys, "orig_argv", ["python", "train.py", "--api-key", "abc"])
    found = circumstances.quick()
    assert found["command"] == ["python", "train.py", "--api-key", "***"]
    assert found["python"] == ".".join(map(str, sys.version_info[:3]))
    assert found["packages"]["msgspec"]  # type: ignore[index]
    assert found["host"]["cpus"] == os.cpu_count()  # type: ignore[index]


def test_no_value_of_the_environment_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A secret in the environment is in no part of the circumstances."""
    monkeypatch.setenv("MY_PRIVATE_THING", "sesame-open")
    assert "sesame-open" not in str(circumstances.quick()) + str(circumstances.slow())


def test_a_clean_checkout_gives_its_commit(repository: Path) -> None:
    """Commit and branch, no diff."""
    state = circumstances.slow()["git"]
    assert isinstance(state, dict)
    assert len(state["commit"]) == 40
    assert state["dirty"] is False
    assert "diff" not in state


def test_uncommitted_changes_come_as_a_bounded_diff(repository: Path) -> None:
    """The change is there, its secrets are masked, a huge one is cut and says so."""
    (repository / "train.py").write_text("lr = 2\napi_key = 'sesame-open'\n")
    (repository / "new.py").write_text("x\n")
    state = circumstances.slow()["git"]
    assert isinstance(state, dict)
    assert "+lr = 2" in state["diff"]
    assert "sesame" not in state["diff"]
    assert state["untracked"] == ["new.py"]
    assert state["diff_cut"] is False
    (repository / "train.py").write_text("x = 1\n" * 100_000)
    state = circumstances.slow()["git"]
    assert isinstance(state, dict)
    assert state["diff_cut"] is True
    assert len(state["diff"]) <= 64 << 10


def test_outside_a_repository_there_is_no_git_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be found is absent."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert "git" not in circumstances.slow()


def test_a_program_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A stuck `nvidia-smi` costs its deadline and nothing else."""
    stuck = tmp_path / "nvidia-smi"
    stuck.write_text("#!/bin/sh\nexec sleep 30\n")
    stuck.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(circumstances, "_DEADLINE", 0.2)
    assert "accelerators" not in circumstances.slow()


def test_accelerators_come_from_the_driver_s_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU here: a program of the same name stands in for nvidia-smi and prints what that one prints."""
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'NVIDIA H100, 81559 MiB, 550.54, GPU-1'\necho 'NVIDIA H100, 81559 MiB, 550.54, GPU-2'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    found = circumstances.slow()["accelerators"]
    assert isinstance(found, list)
    assert [each["uuid"] for each in found] == ["GPU-1", "GPU-2"]
    assert found[0]["name"] == "NVIDIA H100"


def test_the_kernel_s_own_list_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No GPU here: a folder of the form of /proc/driver/nvidia stands in for it. It is read at once, no program is asked."""
    gpu = tmp_path / "gpus/0000:01:00.0"
    gpu.mkdir(parents=True)
    (gpu / "information").write_text("Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 90\nGPU UUID: \t GPU-1\n")
    (tmp_path / "version").write_text("NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 2024\n")
    monkeypatch.setattr(circumstances, "_NVIDIA", tmp_path)
    monkeypatch.setattr(circumstances, "_nvidia_of_program", None)
    assert circumstances.slow()["accelerators"] == [{"name": "NVIDIA H100 80GB HBM3", "uuid": "GPU-1", "driver_version": "550.54.15"}]
