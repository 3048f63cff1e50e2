"""A missing component is a failure in CI and a skip elsewhere."""

from __future__ import annotations

import pytest

from tests import components


@pytest.mark.parametrize(("ci", "outcome"), [("", pytest.skip.Exception), ("true", pytest.fail.Exception)])
def test_what_is_missing_skips_or_fails(ci: str, outcome: type[Exception], monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a program a test skips, with CI set it fails, and both say how to get it."""
    monkeypatch.setenv("CI", ci)
    with pytest.raises(outcome, match="apt-get install frobnicator"):
        components.program("frobnicator", "apt-get install frobnicator")
    with pytest.raises(outcome, match="pip install frobnicator"):
        components.module("frobnicator.core", "pip install frobnicator")


def test_what_is_there_is_found() -> None:
    """A program on the path and an installed module are no reason to skip."""
    assert components.program("sh", "").endswith("/sh")
    components.module("json", "")
