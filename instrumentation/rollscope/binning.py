"""Values → bins: numpy where it is loaded already, plain Python elsewhere; both agree."""

from __future__ import annotations

import math
import struct
import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

__all__ = ["MOST_BINS", "Binned", "NotValuesError", "as_array", "bin_array", "bin_values", "check_edges"]

MOST_BINS = 4096


class NotValuesError(TypeError):
    """When something holds no numbers that could be binned without waiting for a device."""


class Binned(NamedTuple):
    """A histogram. `edges` holds one more than `counts`; both are empty without a finite value."""

    edges: bytes
    """Little-endian float64."""
    counts: bytes
    """Little-endian int64; the last bin holds its upper edge."""
    total: int
    """Finite values, those outside given edges included."""
    sum: float
    min: float | None
    max: float | None
    nan: int
    positive_infinite: int
    negative_infinite: int


def check_edges(bins: int, edges: Iterable[float] | None) -> list[float] | int:
    """Return the edges, or the number of bins. Raises `ValueError` unless edges rise, are finite, and make 1 to 4096 bins."""
    if edges is None:
        if not 1 <= bins <= MOST_BINS:
            raise ValueError(f"bins={bins}: give 1 to {MOST_BINS}")
        return int(bins)
    given = [float(edge) for edge in edges]
    rising = all(low < high for low, high in pairwise(given))
    if not 2 <= len(given) <= MOST_BINS + 1 or not rising or not all(map(math.isfinite, given)):
        raise ValueError(f"edges must be 2 to {MOST_BINS + 1} finite numbers that rise")
    return given


def as_array(values: Any) -> Any:
    """Return numbers as a numpy array of whatever shape, or None where numpy is not loaded and the values are no array.

    Raises `NotValuesError` for a tensor on a device.
    """
    if hasattr(values, "detach"):
        if str(values.device) != "cpu":
            raise NotValuesError(f"a tensor on {values.device} is not read, to not wait for it; give values.cpu() where waiting is fine")
        values = values.detach().double().numpy()
    numpy = sys.modules.get("numpy")
    if numpy is None:
        return None
    if hasattr(values, "dtype"):
        return numpy.asarray(values)
    if not isinstance(values, (list, tuple)):
        return numpy.asarray(list(_flat(values)), dtype=float)
    try:
        return numpy.asarray(values, dtype=float)
    except (TypeError, ValueError, OverflowError):  # lists of unequal length, integers beyond any float, None
        return numpy.asarray(list(_flat(values)), dtype=float)


def bin_array(array: Any, bins: list[float] | int) -> Binned:
    """Bin a numpy array."""
    import numpy

    values = array.ravel().astype(float, copy=False)
    finite = numpy.isfinite(values)
    nan = positive = negative = 0
    if not finite.all():
        nan = int(numpy.isnan(values).sum())
        positive, negative = int((values == math.inf).sum()), int((values == -math.inf).sum())
        values = values[finite]
    if not values.size:
        return _empty(bins, nan, positive, negative)
    low, high = float(values.min()), float(values.max())
    edges = numpy.asarray(_edges(bins, low, high))
    counts = _count_evenly(values, edges) if isinstance(bins, int) else numpy.histogram(values, edges)[0]
    packed = edges.astype("<f8").tobytes(), counts.astype("<i8").tobytes()
    return Binned(*packed, int(values.size), float(values.sum()), low, high, nan, positive, negative)


def _count_evenly(values: Any, edges: Any) -> Any:
    """Counts in bins of equal width: by division, then put right by a bin where rounding went wrong. Ten times as fast as a search."""
    import numpy

    bins, low = len(edges) - 1, edges[0]
    width = (edges[-1] - low) / bins
    if not 0 < width < math.inf or bins / (edges[-1] - low) == math.inf:
        return numpy.histogram(values, edges)[0]
    places = ((values - low) / width).astype(numpy.intp)
    numpy.clip(places, 0, bins - 1, out=places)
    places -= values < edges[places]
    places += (values >= edges[places + 1]) & (places < bins - 1)
    return numpy.bincount(places, minlength=bins)


def bin_values(values: Iterable[Any], bins: list[float] | int) -> Binned:
    """Bin numbers, in nested sequences too, without numpy."""
    given = list(_flat(values))
    finite = [value for value in given if math.isfinite(value)]
    positive, negative = given.count(math.inf), given.count(-math.inf)
    nan = len(given) - len(finite) - positive - negative
    if not finite:
        return _empty(bins, nan, positive, negative)
    low, high = min(finite), max(finite)
    edges = _edges(bins, low, high)
    counts = [0] * (len(edges) - 1)
    for value in finite:
        place = bisect_right(edges, value) - 1
        if 0 <= place < len(counts):
            counts[place] += 1
        elif value == edges[-1]:
            counts[-1] += 1
    return Binned(_floats(edges), struct.pack(f"<{len(counts)}q", *counts), len(finite), _sum(finite), low, high, nan, positive, negative)


def _sum(values: list[float]) -> float:
    try:
        return math.fsum(values)
    except OverflowError:  # of an intermediate sum; the plain one comes to infinity, as numpy's does
        return sum(values)


def _edges(bins: list[float] | int, low: float, high: float) -> list[float]:
    if not isinstance(bins, int):
        return bins
    if low == high:
        low, high = low - 0.5, high + 0.5
    width = high / bins - low / bins
    edges = [low + place * width for place in range(bins)]
    return [*edges, high] if all(a < b for a, b in zip(edges, [*edges[1:], high], strict=True)) else _few(low, high)


def _few(low: float, high: float) -> list[float]:
    """One bin, where the values are too close together, or too large, to be told apart by more."""
    return [low, high] if low < high else [math.nextafter(low, -math.inf), math.nextafter(high, math.inf)]


def _empty(bins: list[float] | int, nan: int, positive: int, negative: int) -> Binned:
    edges, counts = (b"", b"") if isinstance(bins, int) else (_floats(bins), bytes(8 * (len(bins) - 1)))
    return Binned(edges, counts, 0, 0.0, None, None, nan, positive, negative)


def _floats(values: Sequence[float]) -> bytes:
    return struct.pack(f"<{len(values)}d", *values)


def _flat(values: Any) -> Iterator[float]:
    if hasattr(values, "tolist"):
        values = values.tolist()
    if not isinstance(values, Iterable) or isinstance(values, (str, bytes)):
        yield _number(values)
        return
    for value in values:
        if isinstance(value, float):
            yield value
        elif isinstance(value, Iterable) or hasattr(value, "tolist"):
            yield from _flat(value)
        else:
            yield _number(value)


def _number(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except (TypeError, ValueError) as error:
        raise NotValuesError(f"{type(value).__qualname__} {value!r:.40} is no number") from error
