"""What a run is called in trackers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.records import RunStarted
from rollscope_exporters.worker._naming import filled

CONFIG: dict[str, object] = {
    "model": "Qwen/Qwen3-8B",
    "algorithm": {"adv_estimator": "grpo", "kl": {"coef": 0.001}},
    "data": {"train": "/data/airline/"},
    "actor.lr": 1e-6,
    "list": [1, 2],
    "empty": "",
    "none": None,
}
RUN = RunStarted(run="0123456789abcdef", name="own", project="airline", time=1, attempt=2, config=CONFIG)


@pytest.mark.parametrize(
    ("template", "name"),
    [
        ("{model}_{algorithm.adv_estimator}_{data.train}_{actor.lr}", "Qwen3-8B_grpo_airline_1e-06"),
        ("{model}_{nowhere}_{data.train}", "Qwen3-8B_airline"),
        ("{nowhere}_{model}", "Qwen3-8B"),
        ("{model}_{nowhere}", "Qwen3-8B"),
        ("{nowhere}_{neither}", ""),
        ("{algorithm.kl.coef}", "0.001"),
        ("{algorithm}-{list}-{empty}-{none}-{model}", "Qwen3-8B"),
        ("{project}/{name}-{run}-{attempt}", "airline/own-01234567-2"),
        ("run-{model}", "run-Qwen3-8B"),
        ("no keys at all", ""),
    ],
)
def test_keys_are_looked_up_and_missing_ones_go(template: str, name: str) -> None:
    """With the separator before them, or behind them at the beginning; where nothing is known there is no name."""
    assert filled(template, RUN, 120) == name


@given(template=st.text(st.sampled_from("{}ab._- /model"), max_size=60), length=st.integers(8, 250))
def test_any_template_gives_a_name_of_bounded_length(template: str, length: int) -> None:
    """Without separators at its ends."""
    name = filled(template, RUN, length)
    assert len(name) <= length
    assert name == name.strip("_-.:/ ")
