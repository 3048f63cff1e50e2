"""*training*: what the optimiser sees, step by step."""

from __future__ import annotations

from rollscope import vocabulary as v

from .board import Board, Chart, Row, Variable
from .promql import DURATION, PHASE, RUN, RUN_LABEL, RUNS, SCALAR, one, over_steps, present, rate, scalars, select

_STEP = select(v.METRIC_STEP_INDEX, RUN)


def _scalars(title: str, pattern: str, unit: str = "", about: str = "", width: int = 8) -> Chart:
    return Chart(title, one(scalars(pattern), RUN_LABEL, SCALAR), unit=unit, about=about, width=width)


def _now(title: str, expr: str, unit: str = "", about: str = "") -> Chart:
    return Chart(title, one(expr, RUN_LABEL), "stat", unit, about, 6)


NOW = Row(
    "Now",
    (
        _now("Step", f"max by ({RUN_LABEL}) (last_over_time({_STEP}[$__range]))"),
        _now("Since the last step", f"rollscope:step_age:seconds{{{RUN}}}", "s", "By the step's own time."),
        _now("Steps in the chosen time", f"sum by ({RUN_LABEL}) (count_over_time({_STEP}[$__range]))"),
        _now("Latest reward", scalars("critic/rewards?/mean|reward/mean|reward", "$__range")),
    ),
)
LEARNING = Row(
    "Learning",
    (
        _scalars("Reward", ".*(rewards?|score)/(mean|max|min)|reward"),
        _scalars("Advantage", ".*advantages?/.*"),
        _scalars("Policy loss", ".*(pg_loss|policy_loss)"),
        _scalars("KL", ".*(kl_loss|ppo_kl|kl)", about="Distance from the reference policy. A sudden rise comes before most collapses."),
        _scalars("Entropy", ".*entropy(_loss)?"),
        _scalars("Gradient norm", ".*grad_norm"),
        _scalars("Clipped share", ".*clipfrac.*", "percentunit"),
        _scalars("Learning rate", ".*/lr"),
        _scalars("Groups without signal", ".*without_signal.*", about="Groups whose samples all scored the same teach nothing."),
    ),
)
LENGTHS = Row(
    "Lengths and throughput",
    (
        _scalars("Response length", "response_length/.*", about="In tokens."),
        _scalars("Turns", "num_turns/.*"),
        _scalars("Throughput", "perf/.*(throughput|tokens_per).*", about="Tokens a second."),
    ),
)
TIME = Row(
    "Where the time goes",
    (
        Chart("Phases by the trainer's timers", one(scalars("timing_s/.*"), RUN_LABEL, SCALAR), "stack", "s", width=12),
        Chart(
            "Phases by their spans",
            one(f"histogram_sum({rate(f'{RUN_LABEL}, {PHASE}', DURATION, present(PHASE))})", RUN_LABEL, PHASE),
            "stack",
            "percentunit",
            "Share of the time that each phase takes.",
            12,
        ),
    ),
)
OVER_STEPS = Row(
    "Over steps, each run by itself",
    tuple(
        Chart(
            f"{title} of $run",
            over_steps(pattern),
            "steps",
            about="Every value over its own step, not over time. A resumed run goes back. For several runs in one chart see the trackers.",
            width=12,
            repeat="run",
        )
        for title, pattern in (("Reward", ".*(rewards?|score)/mean|reward"), ("Policy loss", ".*(pg_loss|policy_loss)"))
    ),
)
ANY = Row("Any scalar", (Chart("$scalar", one(scalars("$scalar"), RUN_LABEL), repeat="scalar"),))

TRAINING = Board(
    "training",
    "rollscope / training",
    "Scalars of steps, each at the step's own time.",
    (RUNS, Variable("scalar", "scalars", f"label_values({select(v.METRIC_STEP_SCALAR, RUN)}, {SCALAR})")),
    (NOW, LEARNING, Row("Validation", (_scalars("Validation", "val.*", width=24),)), LENGTHS, TIME, OVER_STEPS, ANY),
)
"""Patterns cover the names of verl, TRL, OpenRLHF and our examples; `Any scalar` has the rest."""
