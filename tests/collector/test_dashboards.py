"""Dashboards: up to date, well-formed, and every query has data after the demo went through the real Collector and Prometheus."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import promql_parser
import pytest
import yaml

from rollscope.vocabulary import REGISTRY
from rollscope.vocabulary.prometheus import metric_name
from tests.collector.configurations import ROOT
from tests.collector.stack import Stack
from tests.waiting import until
from tools.dashboards import BOARDS

FOLDER = ROOT / "grafana"
NAMES = [board.name for board in BOARDS]
OPTIONAL = {query.expr: query.optional for board in BOARDS for query in board.queries if query.optional}
SETTLING = 60.0
"""Seconds after the demo within which the last span metrics, scrapes and rules come in, on a busy machine too."""
VALUES = {"run": ".+", "scalar": "actor/entropy", "__interval": "5s", "__rate_interval": "20s", "__range": "1h"}


def dashboard(name: str) -> dict[str, Any]:
    """The JSON that is checked in."""
    found: dict[str, Any] = json.loads((FOLDER / "dashboards" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def panels(name: str) -> list[dict[str, Any]]:
    """Panels that show something."""
    return [panel for panel in dashboard(name)["panels"] if panel["type"] != "row"]


def targets(name: str) -> list[dict[str, Any]]:
    """All queries."""
    return [target for panel in panels(name) for target in panel["targets"]]


def substituted(text: str, values: Mapping[str, str] = VALUES) -> str:
    """The query as Grafana sends it."""
    return re.sub(r"\$(\w+)", lambda match: values[match[1]], text)


def metrics_in(expression: Any) -> Iterator[str]:
    """Names of the metrics in a parsed expression."""
    if isinstance(expression, promql_parser.VectorSelector):
        yield expression.name or next(matcher.value for matcher in expression.matchers.matchers if matcher.name == "__name__")
    for part in ("expr", "lhs", "rhs", "vector_selector", "param"):
        if (inner := getattr(expression, part, None)) is not None:
            yield from metrics_in(inner)
    for argument in getattr(expression, "args", None) or ():
        yield from metrics_in(argument)


def known_metrics() -> set[str]:
    """What a query may name: the vocabulary, our recording rules, Prometheus' `up`."""
    rules = yaml.safe_load((ROOT / "prometheus" / "rules" / "recording.yaml").read_text(encoding="utf-8"))["groups"]
    recorded = {rule["record"] for group in rules for rule in group["rules"]}
    return {metric_name(name) for kind, name in REGISTRY if kind == "metric"} | recorded | {"up"}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Grafana's SDK needs Python 3.11")
def test_the_files_are_up_to_date() -> None:
    """What is checked in is what the generator makes now."""
    done = subprocess.run([sys.executable, "-m", "tools.dashboards", "--check"], capture_output=True, text=True, cwd=ROOT.parent)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", NAMES)
def test_every_expression_parses_and_names_what_exists(name: str) -> None:
    """PromQL is valid and each metric is one of the vocabulary, of our rules or of the Collector itself."""
    for target in targets(name):
        parsed = promql_parser.parse(substituted(target["expr"]))
        found = set(metrics_in(parsed))
        assert found
        assert {metric for metric in found if not metric.startswith("otelcol_")} <= known_metrics()


@pytest.mark.parametrize("name", NAMES)
def test_panels_have_places_and_sources(name: str) -> None:
    """Ids are unique, no panel lies on another, each reads from the chosen Prometheus and has a title."""
    board = dashboard(name)
    ids = [panel["id"] for panel in board["panels"] if "id" in panel]
    assert len(ids) == len(set(ids))
    cells = [cell for panel in board["panels"] for cell in area(panel["gridPos"])]
    assert len(cells) == len(set(cells))
    for panel in panels(name):
        assert panel["title"]
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])


def area(place: Mapping[str, int]) -> Iterator[tuple[int, int]]:
    """Cells of Grafana's grid, 24 wide, that a panel covers."""
    assert place["x"] + place["w"] <= 24
    return itertools.product(range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"]))


def test_provisioning_finds_the_dashboards() -> None:
    """The folder that Grafana is told to read is where Compose mounts ours."""
    provider = yaml.safe_load((FOLDER / "provisioning" / "dashboards" / "rollscope.yaml").read_text(encoding="utf-8"))["providers"][0]
    volumes = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))["services"]["grafana"]["volumes"]
    assert f"./grafana/dashboards:{provider['options']['path']}:ro" in volumes
    assert {path.stem for path in (FOLDER / "dashboards").iterdir()} == set(NAMES)
    assert len({board.title for board in BOARDS}) == len({dashboard(name)["uid"] for name in NAMES}) == len(NAMES)


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_every_query_has_data_after_the_demo(name: str, travelled: Stack) -> None:
    """Each query, sent as Grafana sends it, returns numbers; those that a healthy system lacks are listed with the reason."""
    wanted = {target["expr"] for target in targets(name)} - OPTIONAL.keys()
    until(lambda: all(numbers(travelled, expression) for expression in wanted), SETTLING, say=lambda: without_numbers(travelled, wanted))


@pytest.mark.integration
@pytest.mark.parametrize("name", NAMES)
def test_every_choice_has_values(name: str, travelled: Stack) -> None:
    """The variables at the top of each dashboard find something to choose from."""
    for variable in dashboard(name)["templating"]["list"]:
        if variable["type"] == "query":
            selector, label = re.fullmatch(r"label_values\((.+), (\w+)\)", variable["query"]).groups()  # type: ignore[union-attr]
            answer = travelled.get("prometheus", f"/api/v1/label/{label}/values", **{"match[]": substituted(selector)})
            assert answer["data"], variable["name"]


def numbers(stack: Stack, expression: str) -> bool:
    """Whether a query returned a number that is one at any time since the demo began, until soon after it ended."""
    began, ended = stack.demo
    if expression.endswith("]"):  # every stored value, for which Grafana asks once
        return any(value != "NaN" for series in stack.query(substituted(expression)) for _, value in series["values"])
    times = {"start": f"{began:.3f}", "end": f"{min(time.time(), ended + SETTLING):.3f}", "step": "1"}
    answer = stack.get("prometheus", "/api/v1/query_range", query=substituted(expression), **times)
    return any("histograms" in series or any(value != "NaN" for _, value in series["values"]) for series in answer["data"]["result"])


def without_numbers(stack: Stack, expressions: Iterable[str]) -> list[str]:
    """Those that return none."""
    return sorted(expression for expression in expressions if not numbers(stack, expression))
