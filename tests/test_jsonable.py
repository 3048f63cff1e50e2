"""JSON of anything: nothing raises, and what comes out is JSON."""

import dataclasses
import enum
import json
import pathlib
from collections import UserDict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from rollscope.jsonable import fit, json_bytes, json_text

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=5) | st.integers(), inner, max_size=4),
    max_leaves=20,
)


class Colour(enum.Enum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int


class Model(BaseModel):
    content: str | None
    calls: list[int] = []


class Angry:
    def __repr__(self):
        raise RuntimeError("no")


@given(anything)
def test_anything_becomes_json(value):
    """Surrogates, huge integers, NaN and bytes included."""
    json.loads(json_bytes(value))


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (Model(content=None, calls=[1]), {"content": None, "calls": [1]}),
        (Point(1), {"x": 1}),
        (Colour.RED, "red"),
        (np.float64(0.5), 0.5),
        (np.int64(3), 3),
        (np.arange(3), [0, 1, 2]),
        (UserDict(a=1), {"a": 1}),
        ({1: "a"}, {"1": "a"}),
        (pathlib.PurePosixPath("/a"), "/a"),
        ("\ud800", "\ufffd"),
        (1 << 70, 1 << 70),
        ([1, "\ud800", Model(content="x")], [1, "\ufffd", {"content": "x", "calls": []}]),
    ],
)
def test_objects_become_what_they_hold(value, wanted):
    """Models, dataclasses, numpy values and mappings become their content; unknown objects their repr."""
    assert json.loads(json_bytes(value)) == wanted


def test_a_list_within_itself_ends():
    """A cycle is cut off."""
    loop: list[object] = [1]
    loop.append(loop)
    assert json.loads(json_bytes(loop))[0] == 1


def test_an_object_that_cannot_print_itself():
    """A raising `__repr__` costs the value, not the call."""
    assert "Angry" in json.loads(json_bytes({"a": Angry()}))["a"]


@given(st.lists(st.fixed_dictionaries({"content": st.text(max_size=500)}), max_size=10), st.integers(64, 2000))
def test_what_is_too_long_stays_json(messages, limit):
    """Shortened messages are still a list of messages, and within the limit."""
    text = json_text(messages, limit)
    assert len(text) <= limit
    assert len(text.encode()) <= 1.25 * limit
    assert isinstance(json.loads(text), list)


def test_a_cut_string_says_how_much_is_missing():
    """The marker tells the number of characters left out."""
    text = fit(json_bytes([{"role": "user", "content": "x" * 1000}]), 400)
    assert json.loads(text) == [{"role": "user", "content": "x" * 200 + "…[800 characters not recorded]"}]
