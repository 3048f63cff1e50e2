"""A board as the JSON that Grafana reads, through Grafana's own typed SDK."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

from grafana_foundation_sdk.builders import dashboard as g
from grafana_foundation_sdk.builders import heatmap, prometheus, stat, table, timeseries, xychart
from grafana_foundation_sdk.builders.common import StackingConfig, VizLegendOptions
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models.common import LegendDisplayMode, LegendPlacement, StackingMode, VisibilityMode
from grafana_foundation_sdk.models.dashboard import (
    DashboardCursorSync,
    DashboardLinkType,
    DataSourceRef,
    DataTransformerConfig,
    VariableRefresh,
    VariableSort,
)
from grafana_foundation_sdk.models.prometheus import PromQueryFormat
from grafana_foundation_sdk.models.xychart import ScatterShow, SeriesMapping

from .board import Board, Chart, Query, Row, Variable

SOURCE = DataSourceRef(type_val="prometheus", uid="${datasource}")
_HEIGHTS = {"stat": 5, "heatmap": 9, "table": 9}


def render(board: Board) -> str:
    """JSON of a dashboard, the same for the same board."""
    builder = (
        g.Dashboard(board.title)
        .uid(f"rollscope-{board.name}")
        .description(board.about)
        .tags(["rollscope"])
        .timezone("browser")
        .tooltip(DashboardCursorSync.CROSSHAIR)
        .refresh("30s")
        .time("now-6h", "now")
        .with_variable(g.DatasourceVariable("datasource").label("Prometheus").type("prometheus"))
        .link(
            g.DashboardLink("rollscope")
            .type(DashboardLinkType.DASHBOARDS)
            .tags(["rollscope"])
            .as_dropdown(True)
            .include_vars(True)
            .keep_time(True)
        )
    )
    for variable in board.variables:
        builder = builder.with_variable(_variable(variable))
    ids = itertools.count(1)
    for row in board.rows:
        builder = _with_row(builder, row, ids)
    return str(JSONEncoder(sort_keys=True, indent=1).encode(builder.build())) + "\n"


def _variable(variable: Variable) -> g.QueryVariable:
    return (
        g.QueryVariable(variable.name)
        .label(variable.label)
        .datasource(SOURCE)
        .query(variable.query)
        .refresh(VariableRefresh.ON_TIME_RANGE_CHANGED)
        .sort(VariableSort.ALPHABETICAL_ASC)
        .multi(True)
        .include_all(True)
    )


def _with_row(builder: g.Dashboard, row: Row, ids: Iterator[int]) -> g.Dashboard:
    builder = builder.with_row(g.Row(row.title).id(next(ids)))
    for chart in row.charts:
        builder = builder.with_panel(_panel(chart).id(next(ids)))
    return builder


def _panel(chart: Chart) -> Any:
    panel = (
        _kind(chart).title(chart.title).description(chart.about).datasource(SOURCE).span(chart.width).height(_HEIGHTS.get(chart.kind, 8))
    )
    if chart.unit:
        panel = panel.unit(chart.unit)
    if chart.repeat:
        panel = panel.repeat(chart.repeat).repeat_direction("h")
    for index, query in enumerate(chart.queries):
        panel = panel.with_target(_target(query, "ABCDEFGHIJ"[index], chart))
    return panel


def _kind(chart: Chart) -> Any:
    if chart.kind == "stat":
        return stat.Panel()
    if chart.kind == "heatmap":
        return heatmap.Panel()
    if chart.kind == "table":
        return table.Panel().with_transformation(DataTransformerConfig(id_val="organize", options={"excludeByName": {"Time": True}}))
    if chart.kind == "steps":
        return _over_steps()
    lines = timeseries.Panel().show_points(VisibilityMode.ALWAYS if "last_over_time" in chart.queries[0].expr else VisibilityMode.AUTO)
    lines = lines.span_nulls(True).legend(
        VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM).show_legend(True)
    )
    if chart.kind == "stack":
        return lines.fill_opacity(30).stacking(StackingConfig().mode(StackingMode.NORMAL).group("A"))
    return lines


def _over_steps() -> Any:
    """Join what has the same time, then draw each column over the one named `step`; a value without a step is not drawn."""
    panel = (
        xychart.Panel()
        .series_mapping(SeriesMapping.AUTO)
        .dims(xychart.XYDimensionConfig().frame(0).x("step").exclude(["Time"]))
        .show(ScatterShow.POINTS_AND_LINES)
        .legend(VizLegendOptions().display_mode(LegendDisplayMode.LIST).placement(LegendPlacement.BOTTOM).show_legend(True))
    )
    for name, options in (("joinByField", {"byField": "Time", "mode": "outer"}), ("organize", {"excludeByName": {"Time": True}})):
        panel = panel.with_transformation(DataTransformerConfig(id_val=name, options=options))
    return panel


def _target(query: Query, name: str, chart: Chart) -> prometheus.Dataquery:
    target = prometheus.Dataquery().expr(query.expr).ref_id(name).legend_format(query.legend or "__auto")
    if chart.kind in ("stat", "table", "steps"):
        target = target.instant()
    if chart.kind == "table":
        target = target.format(PromQueryFormat.TABLE)
    if chart.kind == "heatmap":
        target = target.format(PromQueryFormat.HEATMAP)
    return target
