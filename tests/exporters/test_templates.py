"""What keys of a template stand for."""

from __future__ import annotations

import pytest

from rollscope_exporters.templates import look_up

CONFIG = {"a": {"b": {"c": 1}, "b.c": 2, "d": [3]}, "a.b": {"e": 4}, "x.y": 5}


@pytest.mark.parametrize(
    ("path", "found"), [("a.b.c", 2), ("a.d", [3]), ("a.b.e", 4), ("x.y", 5), ("a.b", None), ("a", None), ("x", None), ("a.d.z", None)]
)
def test_a_key_is_found_by_its_name_or_through_its_dots(path: str, found: object) -> None:
    """The longest name first, then maps within maps; a map itself is nothing to write into a text."""
    assert look_up(CONFIG, path) == found
