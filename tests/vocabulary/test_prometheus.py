"""One spelling of every name towards Prometheus."""

from __future__ import annotations

import re

import pytest

from rollscope.vocabulary import REGISTRY
from rollscope.vocabulary.prometheus import label_name, metric_name


@pytest.mark.parametrize(
    ("name", "expected"),
    [("rl.step.scalar", "rl_step_scalar"), ("a..b/c", "a_b_c"), (".a.", "a"), ("9lives", "_9lives"), ("a:b", "a:b"), ("a__b", "a__b")],
)
def test_metric_names(name: str, expected: str) -> None:
    """Runs of other characters become one underscore, at the ends none; a digit in front gets one."""
    assert metric_name(name) == expected


@pytest.mark.parametrize(("name", "expected"), [("rl.run.id", "rl_run_id"), ("a:b", "a_b"), ("a..b", "a_b"), ("1st", "key_1st")])
def test_label_names(name: str, expected: str) -> None:
    """Every other character becomes an underscore, of which no two follow each other."""
    assert label_name(name) == expected


def test_no_two_names_of_ours_collide() -> None:
    """Metrics stay apart, and attributes do."""
    metrics = [metric_name(name) for kind, name in REGISTRY if kind == "metric"]
    labels = [label_name(name) for kind, name in REGISTRY if kind in ("attribute", "resource")]
    assert len(metrics) == len(set(metrics))
    assert len(labels) == len(set(labels))
    assert all(re.fullmatch("[a-z_]+", name) for name in metrics + labels)
