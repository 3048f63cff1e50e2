"""Prometheus' own word on its configuration and rules, and ours on the names in them."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from rollscope.vocabulary import REGISTRY
from rollscope.vocabulary.prometheus import label_name, metric_name
from tests.collector.configurations import ROOT
from tests.components import program

FOLDER = ROOT / "prometheus"
RULES = sorted((FOLDER / "rules").glob("*.yaml"))
NAME = re.compile(r"\b(?:rl|gen_ai)_[a-z_]+")


def promtool(*arguments: str) -> None:
    """Run it and require that it finds nothing wrong."""
    done = subprocess.run([program("promtool", "apt-get install prometheus"), *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def alerts() -> list[dict[str, Any]]:
    """All alert rules."""
    groups = [group for path in RULES for group in yaml.safe_load(path.read_text(encoding="utf-8"))["groups"]]
    return [rule for group in groups for rule in group["rules"] if "alert" in rule]


@pytest.mark.parametrize("name", ["prometheus.yaml", "kubernetes.yaml"])
def test_the_configuration_is_valid(name: str) -> None:
    """`promtool check config` takes the file and the rules that it names."""
    promtool("check", "config", str(FOLDER / name))


def test_every_alert_fires_where_it_must_and_only_there() -> None:
    """`promtool test rules` on series made for the purpose."""
    promtool("test", "rules", str(FOLDER / "tests" / "rules.yaml"))


def test_no_alert_is_untested() -> None:
    """Every alert has a case in which it fires."""
    tests = yaml.safe_load((FOLDER / "tests" / "rules.yaml").read_text(encoding="utf-8"))["tests"]
    fired = {case["alertname"] for test in tests for case in test["alert_rule_test"] if case["exp_alerts"]}
    assert fired == {rule["alert"] for rule in alerts()}


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.name)
def test_names_are_in_the_vocabulary(path: Path) -> None:
    """Metrics and labels of ours are spelled as the vocabulary has them."""
    known = {metric_name(name) if kind == "metric" else label_name(name) for kind, name in REGISTRY}
    assert set(NAME.findall(path.read_text(encoding="utf-8"))) <= known


def test_alerts_say_what_to_do() -> None:
    """Each has a severity, a summary with what it is about, and a description."""
    for rule in alerts():
        assert rule["labels"]["severity"] in ("critical", "warning")
        assert "{{ $" in rule["annotations"]["summary"]
        assert rule["annotations"]["description"].endswith(".")
