"""What can be read off a histogram: quantiles, between edges by straight lines."""

from __future__ import annotations

from .records import Histogram, StepMetrics

__all__ = ["QUANTILES", "as_metrics", "mean", "quantile", "summary"]

QUANTILES: dict[str, float] = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95}


def mean(histogram: Histogram) -> float | None:
    """Mean of the finite values, None without one."""
    return histogram.sum / histogram.count if histogram.count else None


def quantile(histogram: Histogram, share: float) -> float | None:
    """The value below which `share` of the binned values lie, as near as the bins tell; None without one."""
    total = sum(histogram.counts)
    if not total:
        return None
    wanted, below = share * total, 0
    for place, count in enumerate(histogram.counts):
        if count and below + count >= wanted:
            low, high = histogram.edges[place], histogram.edges[place + 1]
            return _within(histogram, low + (high - low) * (wanted - below) / count)
        below += count
    return _within(histogram, histogram.edges[-1])


def summary(histogram: Histogram) -> dict[str, float]:
    """Least, largest, mean, quantiles and what was not finite, for trackers that draw lines: suffix → number."""
    found = {"min": histogram.min, "mean": mean(histogram), "max": histogram.max}
    found |= {name: quantile(histogram, share) for name, share in QUANTILES.items()}
    unusual = {"nan": histogram.nan, "inf": histogram.positive_infinite + histogram.negative_infinite}
    return {name: value for name, value in {**found, **{k: n for k, n in unusual.items() if n}}.items() if value is not None}


def as_metrics(histogram: Histogram) -> StepMetrics:
    """`summary` as metrics `name/p50` …: lines are what most trackers draw of a distribution over steps."""
    values = {f"{histogram.name}/{name}": value for name, value in summary(histogram).items()}
    return StepMetrics(run=histogram.run, time=histogram.time, step=histogram.step, values=dict(values), split=histogram.split)


def _within(histogram: Histogram, value: float) -> float:
    """Bins are wider than the values in them."""
    low = value if histogram.min is None else max(value, histogram.min)
    return low if histogram.max is None else min(low, histogram.max)
