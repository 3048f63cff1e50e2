"""Durations as people write them."""

from __future__ import annotations

import pytest

from rollscope_exporters.settings import SettingsError, load


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90.0), ("90s", 90.0), ("1.5m", 90.0), ("250ms", 0.25), ("2h", 7200.0), ("1 d", 86400.0)]
)
def test_durations(text: str, seconds: float) -> None:
    """A number is seconds, a unit says otherwise."""
    assert load(None, {"ROLLSCOPE__WORKERS__DEADLINE": text}).workers.deadline == seconds


@pytest.mark.parametrize("text", ["soon", "5 parsecs", "-1", "0"])
def test_no_durations(text: str) -> None:
    """Anything else names the variable and the value."""
    with pytest.raises(SettingsError, match=f"ROLLSCOPE__WORKERS__DEADLINE: workers.deadline: .*{text}"):
        load(None, {"ROLLSCOPE__WORKERS__DEADLINE": text})
