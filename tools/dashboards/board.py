"""What a dashboard shows, as plain data; how it looks is `render`'s."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["lines", "stack", "stat", "table", "heatmap", "steps"]
"""`steps`: the values of the second query over those of the first, named `step`, which have the same times."""


@dataclass(frozen=True, slots=True)
class Query:
    """One PromQL expression; `$run` and Grafana's own variables may stand in it."""

    expr: str
    legend: str = ""
    """Name of each series, with `{{label}}`."""
    optional: str = ""
    """Why a healthy system may have no data for it; empty where it must have."""


@dataclass(frozen=True, slots=True)
class Chart:
    """One panel."""

    title: str
    queries: tuple[Query, ...]
    kind: Kind = "lines"
    unit: str = ""
    """Grafana's name of the unit, such as `s`, `bytes`, `percentunit`."""
    about: str = ""
    """What to read out of it, where the title does not say it."""
    width: int = 8
    """Columns, of 24."""
    repeat: str = ""
    """Variable for each value of which the panel is repeated."""


@dataclass(frozen=True, slots=True)
class Row:
    """A heading and what stands under it."""

    title: str
    charts: tuple[Chart, ...]


@dataclass(frozen=True, slots=True)
class Variable:
    """A choice at the top of a dashboard."""

    name: str
    label: str
    query: str
    """`label_values(metric, label)`."""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard; `name` is that of its file."""

    name: str
    title: str
    about: str
    variables: tuple[Variable, ...]
    rows: tuple[Row, ...]

    @property
    def queries(self) -> list[Query]:
        """All queries of all panels."""
        return [query for row in self.rows for chart in row.charts for query in chart.queries]
