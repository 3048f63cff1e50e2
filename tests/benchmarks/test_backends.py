"""What the tables of backends, delay and Collector are made with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks import backends, collector, delay
from benchmarks.backends_cost import Meter
from benchmarks.harness import Outcome
from tests import components


def test_costs_of_a_program_and_what_it_starts(tmp_path: Path) -> None:
    """Processor time of a child that has ended counts, and bytes below the folder, both from the meter's start on."""
    (tmp_path / "before").write_bytes(b"x" * 100)
    work = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(5_000_000))']); print('done', flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        meter = Meter(process.pid, tmp_path)
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "after").write_bytes(b"x" * 50)
        assert process.stdout is not None
        process.stdout.readline()
        cost = meter.read()
        process.communicate(b"\n")
    assert cost.bytes == 50
    assert cost.cpu > 0


def test_ours_and_the_library_log_the_same(tmp_path: Path) -> None:
    """Both sides of a backend are measured, scaled to 1,000, with their ratios."""
    outcome = Outcome()
    for material in backends.materials(3, 4):
        backends.compare(outcome, "JSONL", backends.CASES["JSONL"], material)

    assert outcome.notes == []
    assert set(outcome.measured) == {
        f"JSONL, 1,000 {what}, {side}" for what in ("steps of 100 metrics", "trajectories") for side in ("ours", "direct")
    }
    assert all(values["mib"] > 1 for values in outcome.measured.values())
    assert "JSONL, trajectories, mib, ours / direct" in outcome.ratios


def test_every_trajectory_is_shown() -> None:
    """Recorder, shipper, bridge and backend in processes of their own: each trajectory is seen, after it was recorded."""
    figures, shown, recorded = delay.measure(delay.CASES["JSONL"], 50.0, 0.6)
    assert (shown, recorded) == (30, 30)
    assert 0 < figures["median_s"] <= figures["p99_s"]


def test_spans_pass_through_both_collectors() -> None:
    """Agent and gateway, the real binary, take every span on to both sinks, and their processor time is told."""
    components.collector("gateway")
    outcome = collector.run(quick=True)
    assert set(outcome.measured) == {"agent", "gateway, with the copy to Jaeger and span metrics", "both"}
    assert outcome.measured["both"]["cpu_s_per_million_spans"] > 0
