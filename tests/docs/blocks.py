"""Fenced code blocks of the documentation."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    path
    for pattern in ("*.md", "docs/*.md", "examples/*/README.md", "collector-config/*.md", "benchmarks/*.md")
    for path in sorted(ROOT.glob(pattern))
]
_FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """One fenced block."""

    page: Path
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(language: str) -> Iterator[Block]:
    """All blocks of a language, page by page."""
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            if match[1] == language:
                yield Block(page, text.count("\n", 0, match.start()) + 1, language, match[2])
