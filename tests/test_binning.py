"""Bins: numpy and plain Python agree, and nothing is lost."""

import math
import struct

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rollscope.binning import NotValuesError, as_array, bin_array, bin_values, check_edges

floats = st.floats(allow_nan=True, allow_infinity=True, width=64)


def numbers(packed, code):
    return [value for (value,) in struct.iter_unpack(f"<{code}", packed)]


@example([8.988465674311579e307, 8.98846567431158e307], 1)
@given(st.lists(floats, max_size=60), st.integers(1, 20))
def test_both_ways_agree(values, bins):
    """Edges and counts are the same to the bit; what is not finite is counted apart; every finite value is in a bin."""
    plain = bin_values(values, bins)
    with np.errstate(over="ignore"):
        fast = bin_array(as_array(np.array(values)), bins)
    assert fast._replace(sum=0.0) == plain._replace(sum=0.0)
    assert sum(numbers(plain.counts, "q")) == plain.total
    assert plain.total + plain.nan + plain.positive_infinite + plain.negative_infinite == len(values)
    edges = numbers(plain.edges, "d")
    assert edges == sorted(set(edges))
    if plain.total:
        assert edges[0] <= plain.min <= plain.max <= edges[-1]


@given(st.lists(st.floats(-10, 10), min_size=1, max_size=60))
def test_given_edges_are_kept(values):
    """Values outside of them count in the total only; the last bin holds its upper edge."""
    edges = check_edges(0, [-1.0, 0.0, 2.5])
    plain, fast = bin_values(values, edges), bin_array(np.array(values), edges)
    assert numbers(plain.edges, "d") == [-1.0, 0.0, 2.5]
    assert plain.counts == fast.counts
    assert numbers(plain.counts, "q") == [sum(-1 <= v < 0 for v in values), sum(0 <= v <= 2.5 for v in values)]
    assert plain.total == len(values)


@pytest.mark.parametrize("edges", [[1.0], [1.0, 1.0], [2.0, 1.0], [0.0, math.inf], [math.nan, 1.0]])
def test_edges_that_make_no_bins_are_refused(edges):
    """They must rise and be finite."""
    with pytest.raises(ValueError, match="edges must be"):
        check_edges(64, edges)


def test_too_many_bins_are_refused():
    """A histogram is one small record."""
    with pytest.raises(ValueError, match="give 1 to 4096"):
        check_edges(10_000, None)


def test_no_value_makes_no_bin():
    """Without a finite value there is nothing to divide; given edges keep their bins, empty."""
    assert bin_values([math.nan], 4)[:3] == (b"", b"", 0)
    assert numbers(bin_array(np.array([math.inf]), [0.0, 1.0]).counts, "q") == [0]


def test_nested_and_odd_values_are_flattened():
    """Lists of lists, of unequal length, of arrays; bools and integers beyond any float."""
    assert bin_values([[1, 2], (3,), np.array([4.0])], 3).total == 4
    assert as_array([[1, 2], [3]]).tolist() == [1.0, 2.0, 3.0]
    assert as_array(value for value in (1, True)).tolist() == [1.0, 1.0]
    assert bin_values([10**400, -(10**400), True], 1)[2:] == (1, 1.0, 1.0, 1.0, 0, 1, 1)
    with pytest.raises(NotValuesError, match="is no number"):
        bin_values(["a"], 4)


def test_a_tensor_on_a_device_is_not_read():
    """Reading it would wait for the device."""

    class Tensor:
        """Stand-in for a torch tensor on a GPU."""

        device = "cuda:0"

        def detach(self):
            raise AssertionError("read")

    with pytest.raises(NotValuesError, match="cuda:0"):
        as_array(Tensor())
