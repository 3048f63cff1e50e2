"""*rollouts and tools*: how trajectories run, how long generation takes, which tools fail."""

from __future__ import annotations

from rollscope import vocabulary as v

from .board import Board, Chart, Query, Row
from .promql import (
    CALLS,
    DURATION,
    ERROR,
    OPERATION,
    RUN_LABEL,
    RUNS,
    SCALAR,
    SPLIT,
    TOOL,
    equal,
    legend,
    one,
    quantile,
    rate,
    scalars,
    share,
    total,
)

NAME = "span_name"
FAILED = equal("status_code", "STATUS_CODE_ERROR")
AGENT, CHAT, CALL = (equal(OPERATION, name) for name in (v.SPAN_INVOKE_AGENT, v.SPAN_CHAT, v.SPAN_EXECUTE_TOOL))


def _rate(title: str, matcher: str, *labels: str, width: int = 8) -> Chart:
    return Chart(title, one(rate(", ".join(labels), CALLS, matcher), *labels), width=width)


def _duration(title: str, matcher: str, label: str, about: str = "") -> Chart:
    queries = tuple(Query(quantile(q, label, matcher), f"{legend(label)} p{round(100 * q)}") for q in (0.5, 0.9, 0.99))
    return Chart(title, queries, unit="s", about=about)


def _failing(title: str, matcher: str, label: str, optional: str = "") -> Chart:
    return Chart(title, one(share(label, FAILED, matcher), label, optional=optional), unit="percentunit")


def _scalars(title: str, pattern: str) -> Chart:
    return Chart(title, one(scalars(pattern), RUN_LABEL, SCALAR), about="As the trainer counts.", width=12)


TRAJECTORIES = Row(
    "Trajectories",
    (
        _rate("Trajectories a second", AGENT, RUN_LABEL, SPLIT),
        _duration("Duration", AGENT, RUN_LABEL, "The slowest ones decide how long a synchronous step takes."),
        _failing("Failing share", AGENT, RUN_LABEL, optional="no trajectory failed"),
        Chart("Durations", (Query(rate(RUN_LABEL, DURATION, AGENT)),), "heatmap", "s", width=12),
        _scalars("Turns and aborted", "num_turns/.*|response/aborted_ratio"),
    ),
)
GENERATION = Row(
    "Generation",
    (
        _rate("Generations a second", CHAT, RUN_LABEL, NAME),
        _duration("Duration", CHAT, NAME),
        _rate("Turns a second", equal(NAME, v.SPAN_TURN), RUN_LABEL),
    ),
)
TOOLS = Row(
    "Tools",
    (
        _rate("Calls a second", CALL, TOOL),
        _failing("Failing share", CALL, TOOL),
        _duration("Duration", CALL, TOOL),
        Chart(
            "Calls by outcome",
            (Query(total(f"{RUN_LABEL}, {TOOL}, {ERROR}, status_code", CALLS, CALL)),),
            "table",
            about="Since the gateway started.",
            width=12,
        ),
        _scalars("Calls and errors", "tool.*"),
    ),
)

ROLLOUTS = Board(
    "rollouts-and-tools",
    "rollscope / rollouts and tools",
    "Made from all spans, before any sampling.",
    (RUNS,),
    (TRAJECTORIES, GENERATION, TOOLS, Row("Errors", (_rate("Errors a second, by span and type", FAILED, NAME, ERROR, width=24),))),
)
