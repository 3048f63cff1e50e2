"""The console's log, line by line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.destinations.facts import As, Held, Partly


def read(storage: Path, told: dict[str, Any]) -> Held:
    """What the lines of a run say: a few metrics with four digits, the others counted."""
    lines = (storage / "console.log").read_text(encoding="utf-8").splitlines()
    own = lines[next(place for place, line in enumerate(lines) if f" id {told['run']} " in line) :]

    def at(step: int) -> str:
        (line,) = (line for line in own if re.search(rf" step +{step} ", line))
        return line

    (name, id, tags), *_ = re.findall(r"/(.+) starts · id (\S+) · .* tags (.+)$", own[0])
    words = [line for line in own if " step " not in line]
    (end,) = (line.split()[-1] for line in words if line.endswith((" finished", " failed", " aborted")))
    ((shown, hidden),) = re.findall(r"reward/mean (\S+) .*  \+(\d+)", at(3))
    assert (shown, int(hidden)) == ("0.1000", 5)
    ((later,),) = (re.findall(r"reward/mean (\S+)", at(2)),)
    return {
        "run.id": id,
        "run.name": name,
        "run.tags": sorted(tags.split(", ")),
        "run.end": end,
        "metric.value": Partly("some, four digits"),
        "metric.late": As((2, float(later)), "four digits"),
    }
