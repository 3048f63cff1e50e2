"""A ledger as tables on a terminal."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..ledger import RunLedger

_COLORS = {"complete": "green", "delivering": "yellow"}


def print_run(console: Console, run: RunLedger) -> None:
    """Print processes, backends and the verdict of one run."""
    attempt = f", attempt {run.attempt}" if run.attempt else ""
    console.print(f"[bold]{escape(run.name)}[/] ({run.run}{attempt}) in project {escape(run.project)}: {run.status}", highlight=False)
    if run.producers:
        console.print(_producers(run))
    if run.unnumbered:
        console.print(
            f"{run.unnumbered} records without a number (programs without rollscope; spans left open by the dead)",
            highlight=False,
        )
    if run.backends:
        console.print(_backends(run))
    for note in run.notes:
        console.print(f"  note: {escape(note)}", highlight=False)
    for reason in run.reasons:
        console.print(f"  - {escape(reason)}", highlight=False)
    color = _COLORS.get(run.verdict, "red")
    console.print(f"verdict: [bold {color}]{escape(run.verdict)}[/]", highlight=False, soft_wrap=True)


def _producers(run: RunLedger) -> Table:
    table = _table("process", "produced", "dropped", "received", "duplicate", "missing", "waiting")
    for each in run.producers:
        _add(table, each.label, each.produced, sum(each.dropped.values()), each.received, each.duplicate, each.missing, each.waiting)
    if len(run.producers) > 1:
        table.add_section()
        _add(table, "all", run.produced, run.dropped, run.received, run.duplicate, run.missing, run.waiting)
    return table


def _add(table: Table, name: str, *numbers: int) -> None:
    table.add_row(escape(name), *map(str, numbers))


def _backends(run: RunLedger) -> Table:
    table = _table("backend", "delivered", "set aside", "left out", "on the way")
    for backend in run.backends:
        left_out = sum(backend.left_out.values())
        on_the_way = str(backend.pending) if backend.started else "not started"
        table.add_row(backend.backend, str(backend.delivered), str(len(backend.set_aside)), str(left_out), on_the_way)
    return table


def _table(first: str, *numbers: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column(first, overflow="fold")
    for name in numbers:
        table.add_column(name, justify="right", no_wrap=True)
    return table
