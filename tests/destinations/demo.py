"""The demo, noting beside the recorder what it records: `python -m tests.destinations.demo NOTES.json …`, the rest as the demo's own."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rollscope as rs
from examples.tool_rl import train
from examples.tool_rl.worker import Pool


def main() -> int:
    """Train, then write the notes: settings, scalars, tables and rollouts of the run. Returns the demo's exit code."""
    notes: dict[str, list[Any]] = {"settings": [], "scalars": [], "tables": [], "rollouts": []}

    def also(call: Callable[..., Any], note: Callable[..., Any]) -> Callable[..., Any]:
        def both(*arguments: Any, **named: Any) -> Any:
            found = call(*arguments, **named)
            note(found, *arguments, **named)
            return found

        return both

    rs.init = also(rs.init, lambda _, **named: notes["settings"].append({key: named[key] for key in ("config", "tags", "experiment")}))
    rs.log = also(rs.log, lambda _, values, step: notes["scalars"].append([step, values]))
    rs.table = also(rs.table, lambda _, name, rows, step: notes["tables"].append([name, step, rows]))
    Pool.run = also(  # type: ignore[method-assign]
        Pool.run,
        lambda groups, *_, **__: notes["rollouts"].extend([one.trajectory, one.reward, one.rewards] for group in groups for one in group),
    )
    code = train.main(sys.argv[2:])
    Path(sys.argv[1]).write_text(json.dumps(notes, default=float))
    return code


if __name__ == "__main__":
    sys.exit(main())
