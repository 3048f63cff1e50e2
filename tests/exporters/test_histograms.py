"""What is read off a histogram."""

from __future__ import annotations

import struct

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rollscope.binning import bin_array
from rollscope_exporters.histograms import mean, quantile, summary
from rollscope_exporters.records import Histogram
from rollscope_exporters.testing import Sampler


def made_of(values: list[float], bins: int = 64) -> Histogram:
    """The histogram of some values."""
    found = bin_array(np.array(values), bins)
    edges = [edge for (edge,) in struct.iter_unpack("<d", found.edges)]
    counts = [count for (count,) in struct.iter_unpack("<q", found.counts)]
    return Histogram(run="r", name="h", time=0, edges=edges, counts=counts, count=found.total, sum=found.sum, min=found.min, max=found.max)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=80), st.floats(0, 1))
def test_quantiles_lie_between_least_and_largest(values: list[float], share: float) -> None:
    """And are off by a bin at most."""
    histogram = made_of(values)
    found = quantile(histogram, share)
    assert found is not None
    assert min(values) <= found <= max(values)
    width = histogram.edges[1] - histogram.edges[0]
    lower, upper = np.quantile(values, share, method="lower"), np.quantile(values, share, method="higher")
    assert lower - width * 1.01 <= found <= upper + width * 1.01


def test_nothing_comes_of_nothing() -> None:
    """Without a finite value there is neither mean nor quantile."""
    empty = Histogram(run="r", name="h", time=0, edges=[], counts=[], count=0, nan=3)
    assert (mean(empty), quantile(empty, 0.5), summary(empty)) == (None, None, {"nan": 3})


def test_the_summary_is_what_lines_are_drawn_of() -> None:
    """Least, mean, largest, five quantiles, and what was not finite."""
    found = summary(Sampler().histogram())
    assert list(found) == ["min", "mean", "max", "p05", "p25", "p50", "p75", "p95", "nan"]
    assert (found["min"], found["mean"], found["max"], found["p50"], found["nan"]) == (0.0, 0.5, 1.0, 0.625, 1)
