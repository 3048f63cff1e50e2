"""Keys, ids and tags that SwanLab takes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from swanlab.sdk.internal.pkg import constraints

from rollscope_exporters.backends import decode_name
from rollscope_exporters.backends.swanlab._names import metric_key, project_key, run_key, section_key, tag_list

names = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("_x. /@"), max_size=80)


@given(names)
def test_swanlab_takes_every_key_as_it_is(name: str) -> None:
    """SwanLab's own rule accepts each key without trimming, and the name comes back from it."""
    key = metric_key(name)
    assert constraints.ta_metric_key.validate_python(key) == key == key.strip(" \t\n\r./")
    assert not key.startswith("__swanlab__.")
    assert len(key) >= 480 or decode_name(key) == name


@given(names, names)
def test_two_names_never_meet(one: str, other: str) -> None:
    """Different names have different keys, also where one of them is a table."""
    assert (metric_key(one) == metric_key(other)) == (one == other)
    assert metric_key(one) != section_key("tables", other)


@given(names)
def test_swanlab_takes_every_project_and_run(name: str) -> None:
    """Ids and projects fit SwanLab's rules."""
    constraints.ta_project.validate_python(project_key(name))
    constraints.ta_run_id.validate_python(run_key(name))


@pytest.mark.parametrize(("name", "split", "key"), [("acc", "val", "val/acc"), ("val/acc", "val", "val/acc"), ("acc", "train", "acc")])
def test_a_split_is_a_section(name: str, split: str, key: str) -> None:
    """Metrics of another split stand under its name, once."""
    assert metric_key(name, split) == key


def test_tags_fit() -> None:
    """At most 30 tags, none empty or twice, none too long."""
    tags = tag_list(["a", "a", " ", "x" * 600, *map(str, range(50))])
    assert tags[:2] == ["a", "x" * 512]
    assert len(tags) == 30
