"""Distributions: values binned where they are, so that one small record stands for millions of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from . import vocabulary as v
from .background import background
from .binning import Binned, as_array, bin_array, bin_values, check_edges
from .metrics import whole
from .recorder import Recorder, current, guarded
from .step_point import current_step

__all__ = ["histogram"]

_HERE = 100_000
"""Values of an array that are binned in the caller (about 1 ms); more are copied and binned in the background."""


@guarded("histogram")
def histogram(
    name: str,
    values: object,
    step: int | None = None,
    *,
    bins: int = 64,
    edges: Iterable[float] | None = None,
    split: str | None = None,
) -> None:
    """Record the distribution of values: counts in bins, with count, sum, least and largest.

    values: numbers of any shape, a list, numpy array or CPU tensor; NaN and infinities are counted apart. step: the current one unless
    given. bins: of equal width between the least and the largest value. edges: `(bins + 1,)`, rising, instead; what lies outside
    counts in `count` only. split: `validation` or the like. Where numpy is loaded it does the work; it is not imported for it.
    """
    recorder = current()
    if recorder is None:
        return
    attributes: dict[str, Any] = {v.HISTOGRAM_NAME: name}
    point = current_step()
    if step is not None or point is not None:
        attributes[v.STEP_INDEX] = whole(step) if step is not None else point and point.index
    if split is not None:
        attributes[v.SPLIT_NAME] = split
    wanted = check_edges(bins, edges)
    now = recorder.now()
    array = as_array(values)
    if array is None:
        _send(recorder, attributes, bin_values(values, wanted), now)  # type: ignore[arg-type]  # what it cannot walk it refuses
    elif array.size <= _HERE:
        _send(recorder, attributes, bin_array(array, wanted), now)
    else:
        copy = array.copy()
        background.submit(recorder, lambda: _send(recorder, attributes, bin_array(copy, wanted), now), "histogram")


def _send(recorder: Recorder, attributes: dict[str, Any], found: Binned, time: int) -> None:
    values: dict[str, Any] = {
        v.HISTOGRAM_EDGES: found.edges,
        v.HISTOGRAM_COUNTS: found.counts,
        v.HISTOGRAM_COUNT: found.total,
        v.HISTOGRAM_SUM: found.sum,
    }
    if found.total:
        values |= {v.HISTOGRAM_MIN: found.min, v.HISTOGRAM_MAX: found.max}
    if found.nan or found.positive_infinite or found.negative_infinite:
        values |= {
            v.HISTOGRAM_NAN: found.nan,
            v.HISTOGRAM_POSITIVE_INFINITE: found.positive_infinite,
            v.HISTOGRAM_NEGATIVE_INFINITE: found.negative_infinite,
        }
    recorder.event(v.EVENT_HISTOGRAM, {**attributes, **values}, time=time)
