"""Which workers there should be."""

from __future__ import annotations

import msgspec

from rollscope_exporters.settings import Problem, Settings, SettingsError, default_backends
from rollscope_exporters.supervisor import Plan, plan


class Run(msgspec.Struct):
    """A run as the store knows it."""

    run: str
    backends: list[str] | None = None
    status: str = "running"


def make(runs: list[Run], *, configured: list[str] | None = None, behind: bool = False, per_run: bool = False) -> Plan:
    """Make a plan; the backend `absent` cannot be had."""

    def is_per_run(backend: str) -> bool:
        if backend == "absent":
            raise SettingsError([Problem("", "backends.absent", "cannot be loaded", "Install it: pip install absent")])
        return per_run

    backends = None if configured is None else {name: {} for name in configured}
    return plan(Settings(backends=backends), runs, lambda backend, run: behind, is_per_run)


def test_configured_backends_run_before_any_run_does() -> None:
    """They are ready when the first record comes."""
    assert make([], configured=["console", "jsonl"]).workers == [("console", None), ("jsonl", None)]


def test_without_configuration_runs_choose() -> None:
    """Nothing runs until someone asks; a run that says nothing gets the usual; one that wants none gets none."""
    assert make([]).workers == []
    assert make([Run("a")]).workers == [(name, None) for name in default_backends()]
    assert make([Run("a", [])]).workers == []
    assert make([Run("a", ["mlflow"]), Run("b", ["jsonl", "mlflow"])]).workers == [("mlflow", None), ("jsonl", None)]


def test_a_run_that_is_over_needs_a_worker_only_while_rows_are_before_it() -> None:
    """So that a bridge started for a new run does not bring up what old ones asked for."""
    assert make([Run("a", ["jsonl"], "finished")]).workers == []
    assert make([Run("a", ["jsonl"], "finished")], behind=True).workers == [("jsonl", None)]


def test_backends_of_one_run_get_a_process_for_each() -> None:
    """As long as the run lives or has rows left."""
    runs = [Run("a", ["swanlab"]), Run("b", ["swanlab"], "finished"), Run("c", ["jsonl"])]
    assert make(runs, per_run=True).workers == [("swanlab", "a"), ("jsonl", "c")]


def test_a_backend_that_cannot_be_had_disturbs_no_other() -> None:
    """It is named with its cure."""
    found = make([Run("a", ["absent", "jsonl"])])
    assert found.workers == [("jsonl", None)]
    assert found.problems == {"absent": "backends.absent: cannot be loaded. Install it: pip install absent"}
