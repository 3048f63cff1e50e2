"""PromQL put together from names of the vocabulary."""

from __future__ import annotations

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name, metric_name

from .board import Query, Variable

RUN_LABEL, SPLIT, PHASE, TOOL, OPERATION, ERROR, ROLE, RANK, HOST, SCALAR, REASON = map(
    label_name,
    (
        v.RUN_NAME, v.SPLIT_NAME, v.PHASE_NAME, v.GEN_AI_TOOL_NAME, v.GEN_AI_OPERATION_NAME, v.ERROR_TYPE, v.WORKER_ROLE,
        v.WORKER_RANK, v.HOST_NAME, v.METRIC_NAME, v.LOSS_REASON,
    ),
)  # fmt: skip
RATE = "$__rate_interval"
CALLS, DURATION = v.METRIC_SPAN_CALLS, v.METRIC_SPAN_DURATION


def equal(label: str, value: str) -> str:
    """Matcher of one value."""
    return f'{label}="{value}"'


def match(label: str, pattern: str) -> str:
    """Matcher of a whole-value pattern."""
    return f'{label}=~"{pattern}"'


def present(label: str) -> str:
    """Matcher of any value but none."""
    return f'{label}!=""'


RUN = match(RUN_LABEL, "$run")
RUNS = Variable("run", "run", f"label_values({metric_name(v.METRIC_STEP_INDEX)}, {RUN_LABEL})")


def one(expr: str, *labels: str, optional: str = "") -> tuple[Query]:
    """A single query whose series are named by labels."""
    return (Query(expr, legend(*labels), optional),)


def legend(*labels: str) -> str:
    """Series named by labels."""
    return " ".join(f"{{{{{label}}}}}" for label in labels)


def select(metric: str, *matchers: str) -> str:
    """Selector of a metric of the vocabulary."""
    return f"{metric_name(metric)}{{{', '.join(matchers)}}}"


def scalars(pattern: str, window: str = "$__interval") -> str:
    """Scalars of steps whose name matches, each at its own time: a value is in one interval only."""
    return f"last_over_time({select(v.METRIC_STEP_SCALAR, RUN, match(SCALAR, pattern))}[{window}])"


def over_steps(pattern: str) -> tuple[Query, Query]:
    """Steps and scalars as they are stored, every one: those of one record have the same time, by which the panel joins them."""
    every = "[$__range]"
    training = equal(SPLIT, "")
    steps = select(v.METRIC_STEP_INDEX, RUN, training)
    return Query(steps + every, "step"), Query(select(v.METRIC_STEP_SCALAR, RUN, training, match(SCALAR, pattern)) + every, legend(SCALAR))


def total(by: str, metric: str, *matchers: str) -> str:
    """Sum by labels, of one run or several."""
    return f"sum by ({by}) ({select(metric, RUN, *matchers)})"


def rate(by: str, metric: str, *matchers: str) -> str:
    """Increase per second, summed by labels."""
    return f"sum by ({by}) (rate({select(metric, RUN, *matchers)}[{RATE}]))"


def share(by: str, part: str, *matchers: str) -> str:
    """Share of spans that match `part` among those that match the rest; no series where there are none."""
    return f"{rate(by, CALLS, part, *matchers)} / ({rate(by, CALLS, *matchers)} > 0)"


def quantile(q: float, by: str, *matchers: str) -> str:
    """Quantile of span durations, seconds, from native histograms."""
    return f"histogram_quantile({q:g}, {rate(by, DURATION, *matchers)})"
