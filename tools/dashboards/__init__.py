"""Grafana dashboards made from the vocabulary: `python -m tools.dashboards` writes them, `--check` says whether they are up to date.

What they show is data, in a file for each; `render` turns it into Grafana's JSON.
"""

from .board import Board, Chart, Query, Row, Variable
from .boards import BOARDS

__all__ = ["BOARDS", "Board", "Chart", "Query", "Row", "Variable"]
