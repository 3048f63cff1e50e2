"""The benchmarks run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from benchmarks.harness import Took, judged, paired_ratio

ROOT = Path(__file__).parents[2]


def test_a_row_in_json() -> None:
    """`--quick --only span --json` measures ours and the peer and says what the bar is."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "span", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    found = json.loads(done.stdout)

    row = found["rows"]["span"]
    assert found["quick"] is True
    assert "cores" in found["machine"]
    assert len(row["measured"]) == 3
    assert all(values["median_us"] > 0 for values in row["measured"].values())
    assert done.returncode == (0 if row["passed"] else 1)


def test_a_row_as_text() -> None:
    """Without `--json` a row is printed with its workload, figures and verdict."""
    command = [sys.executable, "-m", "benchmarks", "--quick", "--only", "disabled"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)

    assert "disabled: traced - bare <= 0.2 µs:" in done.stdout
    assert "bare" in done.stdout


def test_the_clock_decides() -> None:
    """A call that waits is not cheaper for it; a note says when the processor worked for far less than the clock tells."""
    assert judged([Took(10.0, 9.0), Took(30.0, 9.0), Took(11.0, 9.5)]) == (11.0, [])
    time, notes = judged([Took(40.0, 9.0), Took(30.0, 9.0), Took(11.0, 9.5)])
    assert time == 30.0
    assert "clock 30 µs, processor 9 µs" in notes[0]


def test_ratios_are_taken_within_rounds() -> None:
    """A round in which the machine was twice as slow counts like any other."""
    ours = [Took(1.0, 1.0), Took(2.0, 2.0), Took(50.0, 1.0)]
    peer = [Took(4.0, 4.0), Took(8.0, 8.0), Took(4.0, 4.0)]
    assert paired_ratio(ours, peer) == 0.25
