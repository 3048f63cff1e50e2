"""The bearer token."""

from __future__ import annotations

import pytest

from rollscope_exporters.receiver import Gate


@pytest.mark.parametrize("given", ["Bearer s3cret", "bearer s3cret", b"BEARER  s3cret "])
def test_the_token_opens(given: str | bytes) -> None:
    """Whatever the case of the scheme."""
    assert Gate("s3cret").admits(given)


@pytest.mark.parametrize("given", [None, "", "s3cret", "Bearer", "Bearer other", "Basic s3cret", "Bearer s3cret2", "Bearer ü"])
def test_anything_else_does_not(given: str | None) -> None:
    """Nor nothing at all."""
    assert not Gate("s3cret").admits(given)


def test_without_a_token_everyone_is_let_in() -> None:
    """The network decides then."""
    assert Gate(None).admits(None)
