"""The panels over steps: joined by time, as Grafana does, each stored value meets its own step."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope.vocabulary.prometheus import label_name
from tests.collector.configurations import ROOT
from tests.collector.stack import Stack

pytestmark = pytest.mark.integration


def panel() -> dict[str, Any]:
    """The first of them, as it is checked in."""
    board = json.loads((ROOT / "grafana" / "dashboards" / "training.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(panel for panel in board["panels"] if panel["type"] == "xychart")
    return found


def test_the_panel_joins_by_time_and_draws_over_the_step() -> None:
    """Both queries are sent once, for every stored value; the join is by time, and the column it draws over is the first query's."""
    found = panel()
    assert [target["instant"] for target in found["targets"]] == [True, True]
    assert found["transformations"][0] == {"id": "joinByField", "options": {"byField": "Time", "mode": "outer"}}
    assert found["options"]["dims"]["x"] == found["targets"][0]["legendFormat"] == "step"


def test_each_value_meets_its_step(travelled: Stack) -> None:
    """What the join gives for the demo is what JSONL has: every reward at its step, none twice, none at another's."""
    steps, scalars = (travelled.query(target["expr"].replace("$run", ".+").replace("$__range", "1h")) for target in panel()["targets"])
    at = {time: float(value) for series in steps for time, value in series["values"]}
    joined: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for series in scalars:
        joined[series["metric"][label_name(v.METRIC_NAME)]] += [(at[time], float(value)) for time, value in series["values"]]
    written: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for path in travelled.storage.glob("jsonl/*/metrics.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            for name in joined.keys() & line["values"].keys():
                written[name].append((line["step"], pytest.approx(line["values"][name])))
    assert joined
    assert {name: sorted(pairs) for name, pairs in joined.items()} == {
        name: sorted(pairs, key=lambda pair: pair[0]) for name, pairs in written.items()
    }
