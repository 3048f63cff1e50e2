"""Points: what one record becomes, as plain data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

from ...records import Scalar, StepMetrics, Table
from .._digest_text import body, headline, late_line
from .._digests import Digest
from .._plain import as_json, cell, plain, text, word
from ._names import LATE, MESSAGES, TABLES, TEXTS, TRAJECTORIES, host_key, metric_key, section_key

HIGHEST_STEP = 1 << 48
MOST_ITEMS = 108
MOST_BYTES = 10 * 1024 * 1024


class Item(NamedTuple):
    """A text, a table as JSON, or an encoded image."""

    content: str | bytes
    caption: str
    ending: str = ""
    """Of an image's file."""
    is_stub: bool = False
    """Whether it says no more than how much there was."""


class Media(NamedTuple):
    """Texts, tables or images of one key and step."""

    kind: Literal["text", "table", "image"]
    items: tuple[Item, ...]


Value: TypeAlias = "float | Media"


class Point(NamedTuple):
    """One value of one key at one step."""

    key: str
    step: int
    time: int
    """Unix time, ns."""
    value: Value


def metric_points(record: StepMetrics, step: int) -> Iterable[Point]:
    """The values of one step; words among them become texts."""
    for name, value in record.values.items():
        if isinstance(value, str):
            key = section_key(TEXTS, f"{record.split}/{name}" if record.split not in {"", "train"} else name)
            yield Point(key, step, record.time, _texts([Item(text(value), "")]))
        else:
            yield Point(metric_key(name, record.split), step, record.time, number(value))


def host_points(record: StepMetrics, step: int) -> Iterable[Point]:
    """What a host measured at one moment, for the system view."""
    for name, value in record.values.items():
        if not isinstance(value, str):
            yield Point(host_key(name), step, record.time, number(value))


def digest_points(digest: Digest, step: int, messages: bool) -> Iterable[Point]:
    """A digest: one text for each trajectory, and its messages as JSON beside it; of many the rest makes further points of the same key."""
    for start in range(0, len(digest.rows), MOST_ITEMS):
        rows = digest.rows[start : start + MOST_ITEMS]
        if not digest.split:
            yield Point(LATE, step, digest.time, _texts([Item(late_line(row), str(row.get("trajectory"))) for row in rows]))
            continue
        shown = [Item(body(row), headline(row)) for row in rows]
        yield Point(section_key(TRAJECTORIES, digest.split), step, digest.time, _texts(shown))
        if messages:
            whole = [Item(str(row["messages"]), str(row["trajectory"])) for row in rows]
            yield Point(section_key(MESSAGES, digest.split), step, digest.time, _texts(whole))


def table_point(record: Table, step: int, as_text: bool, most: int) -> Point:
    """A table under the columns that any of its rows has."""
    rows = record.rows[:most]
    left = len(record.rows) - len(rows)
    caption = f"{left} more rows" if left > 0 else f"{len(rows)} rows"
    columns = list(dict.fromkeys(text(name) for row in rows for name in row))
    cells = [{text(name): _finite(cell(value)) for name, value in row.items()} for row in rows]
    key = section_key(TABLES, record.name)
    if as_text:
        return Point(key, step, record.time, _texts([Item("\n".join(as_json(row) for row in cells) or "(no rows)", caption)]))
    content = as_json({"_swanLab": "table", "colDefs": [{"field": name} for name in columns], "rowData": cells})
    return Point(key, step, record.time, Media("table", (_fitting(Item(content, caption), "{}"),)))


def number(value: Scalar) -> float:
    """A value as SwanLab keeps it: 64 bits."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if isinstance(value, int) and value > 0 else -math.inf


def _texts(items: Sequence[Item]) -> Media:
    return Media("text", tuple(_fitting(item, "") for item in items))


def _fitting(item: Item, instead: str) -> Item:
    size = len(item.content.encode() if isinstance(item.content, str) else item.content)
    if size <= MOST_BYTES:
        return item
    note = f"{size} bytes are more than SwanLab takes"
    return Item(instead or note, f"{item.caption} – {note}", is_stub=True)


def _finite(value: object) -> object:
    return word(value) if isinstance(value, float) and not math.isfinite(value) else plain(value)
