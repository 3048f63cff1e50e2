"""Generate `docs/measurements.md` from a run of `make measure` that was kept: `python -m tools.measurements_page [--check]`."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from .page import write_or_check

RESULT = Path(__file__).parents[1] / "benchmarks" / "results" / "measurements.json"
_TITLES = {
    "importing": "Importing",
    "span": "A span",
    "disabled": "Switched off",
    "log": "A step's scalars",
    "trajectory": "A trajectory in the caller",
    "bridge": "The bridge on one core",
    "memory": "A trainer's memory",
    "backends": "Bytes and processor time in each backend",
    "delay": "Delay until it is shown",
    "collector": "The Collector",
}
_INTRODUCTION = """# Measurements

One run of `make measure` on the machine named below, kept in `benchmarks/results/measurements.json`; this page is generated from it by
`make docs`. Peers and we ran in the same run. What was run is said above each table; `make bench` measures on a machine of yours.
"""


def render() -> str:
    """Return the whole page."""
    run = msgspec.json.decode(RESULT.read_bytes())
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    about = [f"- Date: {run['date']}", f"- Machine: {run['machine']}", f"- Versions: {versions}"]
    if run["quick"]:
        about.append("- **A quick run: few rounds and small workloads, to see that everything runs. These figures are not to be quoted.**")
    names = sorted(run["rows"], key=[*_TITLES, *run["rows"]].index)
    sections = [line for name in names for line in _section(name, run["rows"][name])]
    return "\n".join([_INTRODUCTION, *about, "", *sections])


def _section(name: str, row: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"## {_TITLES.get(name, name)}", "", row["workload"], "")
    if row["passed"] is not None:
        yield from (f"Bar: {row['bar']}: {'kept' if row['passed'] else '**missed**'}.", "")
    if row["measured"]:
        yield from (*compared(row["measured"]), "") if name == "backends" else (*_table(row["measured"]), "")
    if row["ratios"] and name != "backends":
        yield from ("| ratio | |", "|---|---:|", *(f"| {what} | {_number(ratio)} |" for what, ratio in row["ratios"].items()), "")
    if row["notes"]:
        yield from (*(f"- {note}" for note in row["notes"]), "")


def _table(measured: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    figures = list(dict.fromkeys(figure for values in measured.values() for figure in values))
    yield f"| | {' | '.join(map(_unit, figures))} |"
    yield f"|---|{'---:|' * len(figures)}"
    for name, values in measured.items():
        yield f"| {name} | {' | '.join(_number(values[figure]) if figure in values else '' for figure in figures)} |"


def compared(measured: Mapping[str, Mapping[str, float]]) -> Iterator[str]:
    """Ours beside the library alone, a row for each backend, what was logged, and figure."""
    yield "| backend | logged | figure | ours | direct | ours / direct |"
    yield "|---|---|---|---:|---:|---:|"
    for name, ours in measured.items():
        what, _, side = name.rpartition(", ")
        direct = measured.get(f"{what}, direct", {})
        if side != "ours":
            continue
        backend, _, logged = what.rpartition(", 1,000 ")
        for figure, value in ours.items():
            other = direct.get(figure)
            cells = [_number(value), "" if other is None else _number(other), _number(value / other) if other else ""]
            yield f"| {backend} | 1,000 {logged} | {_unit(figure)} | {' | '.join(cells)} |"


def _unit(figure: str) -> str:
    for end, unit in _UNITS.items():
        if figure.endswith(end):
            return f"{figure.removesuffix(end).replace('_', ' ').strip()} {unit}".strip()
    return figure.replace("_", " ")


_UNITS = {
    "cpu_s_per_million_spans": "CPU s per million spans",
    "_per_cpu_s": "per CPU s",
    "cpu_s": "CPU s",
    "_per_s": "per s",
    "_mib": "MiB",
    "mib": "MiB",
    "_us": "µs",
    "_s": "s",
}
"""End of a figure's name → its unit, the longest first."""


def _number(value: float) -> str:
    return f"{value:.3g}" if abs(value) < 100 else f"{value:,.0f}"


if __name__ == "__main__":
    sys.exit(write_or_check("measurements.md", render(), "tools.measurements_page"))
