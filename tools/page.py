"""A generated page: written, or compared with what is there."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"


def write_or_check(name: str, text: str, module: str) -> int:
    """Write `text` to `docs/<name>`, or with `--check` say whether it is up to date. Returns an exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=f"Generate docs/{name}.")
    parser.add_argument("--check", action="store_true", help="change nothing; fail when the page is out of date")
    page = DOCS / name
    if not parser.parse_args().check:
        page.write_text(text, encoding="utf-8")
        return 0
    if page.exists() and page.read_text(encoding="utf-8") == text:
        return 0
    print(f"docs/{name} is out of date: run `make docs`", file=sys.stderr)
    return 1
