"""Lays out lines: columns that stay where they are from step to step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone

Paint = Callable[[str, str], str]
"""Text and a style of `STYLES` → text."""

STYLES = {"dim": "2", "bold": "1", "good": "32", "bad": "31", "name": "36", "warn": "33"}
_VALUE_WIDTH = 9


@dataclass
class Columns:
    """The columns of one run: a metric keeps the place and the width it got first; a label only grows."""

    names: list[str] = field(default_factory=list)

    def add(self, chosen: list[str], most: int) -> None:
        for name in chosen:
            if name not in self.names and len(self.names) < most:
                self.names.append(name)

    def cells(self, values: Mapping[str, object], paint: Paint) -> list[str]:
        return [f"{paint(short_name(name), 'name')} {format_value(values.get(name)):<{_VALUE_WIDTH}}" for name in self.names]


def painted(text: str, style: str) -> str:
    return f"\x1b[{STYLES[style]}m{text}\x1b[0m"


def plain(text: str, style: str) -> str:
    return text


def clock(time: int) -> str:
    """Return the time of day of a record in the reader's zone; `time` in ns."""
    return datetime.fromtimestamp(time / 1e9, tz=timezone.utc).astimezone().strftime("%H:%M:%S")


def short_name(name: str, limit: int = 24) -> str:
    """Return the end of a long name: it tells more than the beginning."""
    return name if len(name) <= limit else "…" + name[-(limit - 1) :]


def format_value(value: object) -> str:
    """Return a number in at most nine characters; `-` where there is none."""
    if value is None:
        return "-"
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return _printable(str(value))[:_VALUE_WIDTH]
    try:
        return _number(float(value))
    except OverflowError:
        return ">1e308" if value > 0 else "<-1e308"


def _number(value: float) -> str:
    if not math.isfinite(value):
        return str(value)
    if value.is_integer() and abs(value) < 1e8:
        return str(int(value))
    if abs(value) < 1e-3 or abs(value) >= 1e6:
        return f"{value:.2e}" if len(f"{value:.2e}") <= _VALUE_WIDTH else f"{value:.1e}"
    return f"{value:.4f}" if abs(value) < 1000 else f"{value:.1f}"


def one_line(text: str, limit: int = 200) -> str:
    """Return `text` without what would move the cursor, and not too long."""
    text = _printable(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
