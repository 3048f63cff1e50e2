"""The command."""

from __future__ import annotations

import argparse
import dataclasses
import importlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import cast

from .harness import COUNT, Outcome, Row
from .machine import circumstances
from .report import text

ROWS = ("importing", "span", "disabled", "log", "trajectory", "bridge", "memory")
LONG = ("backends", "delay", "collector")
"""Measured only when asked for: minutes each."""


def main(arguments: list[str] | None = None) -> int:
    """Measure the chosen rows; 1 when a bar was missed, 2 when a row could not be measured."""
    options = _options(arguments)
    if options.inside:
        print(json.dumps(dataclasses.asdict(_row(options.inside).run(quick=options.quick))))
        return 0
    if options.count:
        os.environ[COUNT] = str(options.count)
    names = options.only or ((*ROWS, *LONG) if options.write else ROWS)
    found: dict[str, Outcome] = {}
    about = circumstances()
    if not options.json:
        print(about["machine"], end="\n\n", flush=True)
    for name in names:
        outcome = _apart(name, quick=options.quick)
        if outcome is None:
            print(f"{name}: could not be measured", file=sys.stderr)
            return 2
        found[name] = outcome
        if not options.json:
            print(text(_row(name), outcome), end="\n\n", flush=True)
        result = json.dumps({**about, "quick": options.quick, "rows": {name: _plain(name, found[name]) for name in found}}, indent=2)
        if options.write:  # after each row: the next one may fail, after half an hour
            options.write.write_text(f"{result}\n", encoding="utf-8")
    if options.json:
        print(result)
    return int(any(outcome.passed is False for outcome in found.values()))


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure ours beside the peers.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", type=Path, metavar="FILE", help="keep the result, as JSON; with every row unless --only names some")
    parser.add_argument("--quick", action="store_true", help="few rounds, small workloads: to see that it runs, not how fast")
    parser.add_argument(
        "--only", action="append", choices=(*ROWS, *LONG), metavar="NAME", help=f"one row (repeat for more): {', '.join((*ROWS, *LONG))}"
    )
    parser.add_argument("--count", type=int, metavar="N", help="steps and trajectories of the row `backends`, instead of its own choice")
    parser.add_argument("--inside", choices=(*ROWS, *LONG), help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def _row(name: str) -> Row:
    return cast("Row", importlib.import_module(f"benchmarks.{name}"))


def _apart(name: str, *, quick: bool) -> Outcome | None:
    """Run a row in a process of its own; what peers print goes to standard error."""
    command = [sys.executable, "-m", "benchmarks", "--inside", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False, cwd=Path(__file__).parent.parent)
    return None if done.returncode else Outcome(**json.loads(done.stdout.splitlines()[-1]))


def _plain(name: str, outcome: Outcome) -> dict[str, object]:
    row = _row(name)
    return {"bar": row.BAR, "workload": row.WORKLOAD, **dataclasses.asdict(outcome)}


if __name__ == "__main__":
    sys.exit(main())
