"""By which rule a metric is made of several steps."""

from __future__ import annotations

import pytest

from rollscope_exporters.worker._rules import Rules, rule_by_name


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("actor/pg_loss", "mean"),
        ("critic/score/mean", "mean"),
        ("critic/score/max", "max"),
        ("response_length_min", "min"),
        ("memory.peak", "max"),
        ("tool_calls/count", "sum"),
        ("reward.sum", "sum"),
        ("tokens_total", "last"),
        ("training/global_step", "last"),
        ("actor/lr", "last"),
        ("learning_rate", "last"),
        ("timing_s/step", "mean"),
        ("phase_s/total", "mean"),
        ("time_per_step", "mean"),
        ("training/epoch", "last"),
        ("success_rate", "mean"),
        ("val/acc/mean@16", "mean"),
        ("climax", "mean"),
        ("", "mean"),
        ("奖励/max", "max"),
    ],
)
def test_the_last_word_of_a_name_decides(name: str, rule: str) -> None:
    """A word, not the end of one; where it says nothing it is the mean."""
    assert rule_by_name(name) == rule


def test_patterns_of_the_configuration_come_first() -> None:
    """The first that matches."""
    rules = Rules({"perf/max_*": "max", "perf/*": "sum"})
    assert [rules(name) for name in ("perf/max_memory", "perf/tokens", "other/tokens")] == ["max", "sum", "mean"]
