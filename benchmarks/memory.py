"""A trainer's memory while nobody takes its records."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from .harness import Outcome
from .recording import scratch

NAME = "memory"
WORKLOAD = (
    "One process records spans of ten attributes while no shipper runs, into a journal of at most 256 MiB: more than fits, so that the "
    "limit is reached and refusals are counted. Memory is read from the kernel after 20,000 spans and at the end; `anonymous` is memory of "
    "the process alone, `resident` adds the mapped pages of open segments, which the kernel may take back."
)
BAR = "anonymous grows <= 2 MiB, resident <= 24 MiB, disk <= limit, every span recorded or counted"
LIMIT = 256 << 20
_MIB = 1 << 20

_PROGRAM = """
import json, sys
from pathlib import Path
import rollscope as rs
from rollscope.recorder import current
from benchmarks.recording import SPAN_ATTRIBUTES, recording

folder, warm, spans = Path(sys.argv[1]), 20_000, int(sys.argv[2])

def memory():
    lines = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return {name: int(lines[field].split()[0]) << 10 for name, field in (("anonymous", "RssAnon"), ("resident", "VmRSS"))}

def record(count):
    for _ in range(count):
        with rs.span("execute_tool", SPAN_ATTRIBUTES):
            pass

with recording(folder, limit="256MiB"):
    record(warm)
    before = memory()
    record(spans - warm)
    after = memory()
    counters = current().journal.counters()
disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
print(json.dumps({"before": before, "after": after, "disk": disk, "recorded": counters.last_sequence, "dropped": counters.dropped}))
"""


def run(*, quick: bool) -> Outcome:
    """Measure in a process of its own."""
    spans = 100_000 if quick else 1_000_000
    with scratch() as folder:
        command = [sys.executable, "-c", _PROGRAM, str(folder), str(spans)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    found = json.loads(done.stdout.splitlines()[-1])
    grown = {name: found["after"][name] - found["before"][name] for name in found["before"]}
    measured = {
        "memory": {f"{name}_grown_mib": size / _MIB for name, size in grown.items()} | {"resident_mib": found["after"]["resident"] / _MIB},
        "disk": {"used_mib": found["disk"] / _MIB, "limit_mib": LIMIT / _MIB},
        "records": {"numbered": found["recorded"], "refused_and_counted": sum(found["dropped"].values())},
    }
    whole = found["recorded"] + sum(found["dropped"].values()) >= spans
    passed = grown["anonymous"] <= 2 * _MIB and grown["resident"] <= 24 * _MIB and found["disk"] <= LIMIT and whole
    notes = [f"{spans:,} spans" + (", scaled down from 1,000,000 by --quick: the limit may not be reached" if quick else "")]
    return Outcome(measured, {}, passed, notes)
