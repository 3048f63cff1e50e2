"""Print what was measured."""

from __future__ import annotations

import textwrap

from .harness import Outcome, Row

_WIDTH = 118


def text(row: Row, outcome: Outcome) -> str:
    """One row of the table as lines."""
    verdict = {True: "kept", False: "MISSED", None: "no bar"}[outcome.passed]
    lines = [f"{row.NAME}: {row.BAR}: {verdict}", *textwrap.wrap(row.WORKLOAD, _WIDTH, initial_indent="  ", subsequent_indent="  ")]
    wide = max((len(name) for name in (*outcome.measured, *outcome.ratios)), default=0)
    for name, values in outcome.measured.items():
        lines.append(f"    {name:<{wide}}  " + "  ".join(f"{_unit(key)} {_number(value)}" for key, value in values.items()))
    for name, ratio in outcome.ratios.items():
        lines.append(f"    {name:<{wide}}  ratio {_number(ratio)}")
    lines += [f"    {note}" for note in outcome.notes]
    return "\n".join(lines)


def _unit(key: str) -> str:
    return key.replace("_us", " µs").replace("_per_s", "/s").replace("_per_cpu_s", "/CPU s").replace("_mib", " MiB").replace("_", " ")


def _number(value: float) -> str:
    if value and abs(value) < 100:
        return f"{value:.3g}"
    return f"{value:,.0f}"
