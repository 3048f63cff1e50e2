"""Tests of making any value fit for a record."""

from __future__ import annotations

import dataclasses
import enum
import math
from collections import Counter, OrderedDict, UserDict
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope.recorder import Sanitiser
from rollscope.settings import Limits


class Cleaned:
    """A sanitiser with what it noted."""

    def __init__(self, limits: Limits | None = None) -> None:
        self.noted: Counter[str] = Counter()
        self.sanitiser = Sanitiser(limits or Limits(), lambda kind, message: self.noted.update([kind]))

    def __call__(self, value: object) -> Any:
        return self.sanitiser.value(value)


@pytest.fixture
def clean() -> Cleaned:
    return Cleaned()


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Text(str):
    __slots__ = ()


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(1.5), 1.5),
        (np.float64(2.5), 2.5),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array(3.0), 3.0),
        (np.array([1, 2]), [1, 2]),
        (np.array([[1.0], [2.0]]), [[1.0], [2.0]]),
        (np.longdouble(1.5), 1.5),
        (np.datetime64("2026-01-02"), "2026-01-02"),
        (1 + 2j, "(1+2j)"),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Text("x"), "x"),
        ((1, 2), [1, 2]),
        ({3}, [3]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (bytearray(b"x"), b"x"),
        (memoryview(b"x"), b"x"),
        ("a\0b", "a\0b"),
        (math.inf, math.inf),
        (None, None),
        (-(2**63), -(2**63)),
    ],
)
def test_values_become_what_they_mean(clean: Cleaned, value: object, expected: object) -> None:
    """Numbers stay numbers, containers become plain, NUL and infinity stay."""
    found = clean(value)
    assert found == expected
    assert type(found) is type(expected)


def test_nan_stays(clean: Cleaned) -> None:
    """A loss that became NaN is what one looks for."""
    assert math.isnan(clean(np.float32("nan")))
    assert not clean.noted


@pytest.mark.parametrize(
    ("value", "expected", "kind"),
    [
        ("a\ud800b", "a\ufffdb", "surrogate"),
        ("\ud83d\ude00", "\U0001f600", "surrogate"),
        (2**63, str(2**63), "big_integer"),
        (-(2**70), str(-(2**70)), "big_integer"),
        ({1: "x"}, {"1": "x"}, "unknown_object"),
    ],
)
def test_what_has_no_place_is_replaced_and_noted(clean: Cleaned, value: object, expected: object, kind: str) -> None:
    """Each replacement is counted under its kind."""
    assert clean(value) == expected
    assert clean.noted[kind] == 1
    assert clean.sanitiser.lossy


def test_an_integer_of_many_thousand_digits_costs_nothing(clean: Cleaned) -> None:
    """It is shown in hexadecimal and cut, where decimal digits would take the interpreter's own limit."""
    assert clean(10**5000).startswith("0x")


def test_long_strings_names_and_containers_are_cut() -> None:
    """Everything has a bound."""
    clean = Cleaned(Limits(value_length=10, name_length=5, items=3))
    assert clean("x" * 11) == "x" * 10
    assert clean({"long name": 1}) == {"long ": 1}
    assert clean(list(range(5))) == [0, 1, 2]
    assert clean({str(number): number for number in range(5)}) == {"0": 0, "1": 1, "2": 2}
    assert clean(np.arange(5)) == "<ndarray shape=(5,) dtype=int64 device=cpu>"
    assert clean.noted == {"long_value": 1, "long_name": 1, "many_items": 3}


def test_a_value_within_itself_ends(clean: Cleaned) -> None:
    """A cyclic list is followed to the depth limit."""
    value: list[object] = []
    value.append(value)
    found = clean(value)
    for _ in range(Limits().depth - 1):
        found = found[0]
    assert found == ["…"]
    assert clean.noted == {"deep_value": 1}


def test_an_unknown_object_becomes_a_bounded_repr() -> None:
    """Also one whose `repr` is long, raises, or holds a surrogate."""

    class Long:
        def __repr__(self) -> str:
            return "é\ud800" * 100

    class Broken:
        def __repr__(self) -> str:
            raise RuntimeError("no")

    clean = Cleaned(Limits(repr_length=10))
    assert clean(Long()) == "é\ufffd" * 5
    assert "Broken, repr failed: RuntimeError" in Cleaned()(Broken())


def test_a_tensor_on_a_device_is_described_not_read(clean: Cleaned) -> None:
    """No GPU here: an object that looks like a CUDA tensor and fails when read stands in for one."""

    def forbidden(self: object) -> object:
        raise AssertionError("this would wait for the GPU")

    tensor = type("Tensor", (), {"__module__": "torch", "shape": (2, 3), "dtype": "torch.float32", "device": "cuda:0",
                                 "item": forbidden, "tolist": forbidden, "__repr__": forbidden, "__float__": forbidden})  # fmt: skip
    assert clean(tensor()) == "<Tensor shape=(2, 3) dtype=torch.float32 device=cuda:0>"
    assert clean.noted == {"device_tensor": 1}


def test_many_attributes_keep_the_first_and_the_last() -> None:
    """Identity was set last; what goes is in the middle."""
    clean = Cleaned(Limits(attributes=4))
    found = clean.sanitiser.attributes({f"a{number}": number for number in range(100)})
    assert list(found) == ["a0", "a1", "a2", "a3", *(f"a{number}" for number in range(68, 100))]
    assert clean.noted == {"many_attributes": 1}


@dataclasses.dataclass
class Strange:
    """An object of the program's own."""

    text: str


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20) | st.binary(max_size=20)
    | st.builds(Strange, st.text(max_size=5)) | st.builds(object) | st.sampled_from([np.float32(1), np.int8(3), np.ones(1), Level.HIGH]),
    lambda inner: st.lists(inner, max_size=5) | st.tuples(inner, inner)
    | st.dictionaries(st.text(st.characters(), max_size=5) | st.integers() | st.none(), inner, max_size=5),
    max_leaves=20,
)  # fmt: skip


@given(values)
def test_whatever_comes_can_be_encoded(value: object) -> None:
    """The result of cleaning is always plain: it passes the encoder and comes back equal."""
    found = Cleaned()(value)
    again = msgspec.msgpack.decode(msgspec.msgpack.encode(found))
    assert msgspec.msgpack.encode(again) == msgspec.msgpack.encode(found)


@given(st.text(st.characters(exclude_categories=["Cs"])) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False) | st.binary())
def test_plain_values_are_left_as_they_are(value: object) -> None:
    """Cleaning costs nothing that was fit already."""
    clean = Cleaned()
    assert clean(value) == value
    assert not clean.noted
