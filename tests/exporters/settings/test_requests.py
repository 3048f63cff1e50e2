"""Runs ask, the configuration decides."""

from __future__ import annotations

from rollscope_exporters.settings import Settings, default_backends, wanted_backends


def test_a_run_that_says_nothing_gets_the_usual() -> None:
    """Console and jsonl always, mlflow where it is installed."""
    assert wanted_backends(None, Settings()) == default_backends()
    assert default_backends()[:2] == ["console", "jsonl"]


def test_a_run_that_wants_none_gets_none() -> None:
    """Also when the bridge has backends configured."""
    assert wanted_backends([], Settings()) == []
    assert wanted_backends([], Settings(backends={"jsonl": {}})) == []


def test_a_request_is_followed_where_nothing_is_configured() -> None:
    """Each backend once, in the order of asking."""
    assert wanted_backends(["mlflow", "console", "mlflow"], Settings()) == ["mlflow", "console"]


def test_the_configuration_decides() -> None:
    """Configured backends get every run that wants any."""
    assert wanted_backends(["mlflow"], Settings(backends={"jsonl": {}})) == ["jsonl"]
