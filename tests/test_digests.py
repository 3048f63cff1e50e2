"""Tests of the fast digest."""

from __future__ import annotations

import hashlib

from rollscope.digests import blake2b


def test_it_is_what_hashlib_gives() -> None:
    """The private module that it is taken from is the one behind the public name."""
    assert blake2b is hashlib.blake2b
