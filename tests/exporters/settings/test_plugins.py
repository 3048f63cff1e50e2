"""Backends are found by entry point, with the install line where something is missing."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from rollscope_exporters.settings import SettingsError, backend_class, backend_config, backend_names


def test_the_backends_of_this_distribution_are_found() -> None:
    """By their names, sorted."""
    assert {"console", "jsonl", "mlflow"} <= set(backend_names())
    assert backend_names() == sorted(backend_names())


def test_a_missing_extra_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """A backend whose library is not installed says how to get it."""
    point = EntryPoint("absent", "no_such_library_here.backend:Backend", "rollscope.backends")
    monkeypatch.setattr("rollscope_exporters.settings._plugins.offered", lambda: {"absent": point})
    with pytest.raises(SettingsError, match=r"No module named .*Install it: pip install no_such_library_here"):
        backend_class("absent")


def test_a_section_is_validated_by_the_backends_own_model() -> None:
    """And returned as that model."""
    assert type(backend_config("jsonl", {})).__module__.startswith("rollscope_exporters.backends")
    with pytest.raises(SettingsError, match=r"backends\.jsonl\.rotat_bytes: unknown key\. Did you mean 'rotate_bytes'"):
        backend_config("jsonl", {"rotat_bytes": 1})
