"""Write the dashboards, or say which are not up to date: `python -m tools.dashboards [--check]`."""

from __future__ import annotations

import sys

from tools.environment import ROOT

from . import BOARDS

FOLDER = ROOT / "collector-config" / "grafana" / "dashboards"


def main() -> int:
    """Exit code 1 when `--check` finds a difference."""
    if sys.version_info < (3, 11):
        print("dashboards are written and checked on Python 3.11 or newer: Grafana's SDK needs it", file=sys.stderr)
        return 0
    from .render import render

    wanted = {FOLDER / f"{board.name}.json": render(board) for board in BOARDS}
    if "--check" in sys.argv[1:]:
        there = {path: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
        stale = sorted(path.name for path in wanted.keys() | there.keys() if wanted.get(path) != there.get(path))
        if stale:
            print(f"dashboards are not up to date ({', '.join(stale)}): run `make docs`", file=sys.stderr)
        return int(bool(stale))
    FOLDER.mkdir(parents=True, exist_ok=True)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
