"""History rows: what one record becomes, as plain data. A table stands in a row as `Cells`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from ...records import Histogram, Image, StepMetrics, Table
from .._digest import COLUMNS, LATE_COLUMNS
from .._digest_images import message_images
from .._digests import Digest
from ._names import AXIS, DIGEST, LATE_REWARDS, MESSAGE_IMAGES, metric_key, section_key
from ._plain import cell, scalar

TIMESTAMP = "_timestamp"
_MOST_ROWS = 10_000
"""W&B shows no more of a table."""


class Cells(NamedTuple):
    """A table."""

    columns: list[str]
    rows: list[list[object]]


class Bins(NamedTuple):
    """A histogram."""

    edges: list[float]
    counts: list[int]


class Picture(NamedTuple):
    """An encoded image."""

    content: bytes
    kind: str
    """Ending of its file."""
    caption: str


class Pictures(NamedTuple):
    """Images that are shown side by side."""

    items: tuple[Picture, ...]


Row: TypeAlias = "dict[str, bool | int | float | str | Cells | Bins | Picture | Pictures]"
_MOST_BINS = 512
_MOST_PICTURES = 108
"""W&B takes no more of either."""


def metrics_row(record: StepMetrics) -> Row | None:
    """The scalars of one step, None when there are none."""
    if not record.values:
        return None
    values: Row = {metric_key(name, record.split): scalar(value) for name, value in record.values.items()}
    return values | at(record.step, record.time)


def respelled(record: StepMetrics) -> dict[str, str]:
    """Key → name of those metrics whose name cannot be had back from the key."""
    keys = {metric_key(name, record.split): name for name in record.values}
    return {key: name for key, name in keys.items() if len(key) >= 250}


def table_rows(record: Table) -> list[Row]:
    """A table, in pieces that W&B takes whole."""
    starts = range(0, max(len(record.rows), 1), _MOST_ROWS)
    return [{metric_key(record.name): cells(record.rows[start : start + _MOST_ROWS]), **at(record.step, record.time)} for start in starts]


def histogram_row(record: Histogram) -> Row | None:
    """A histogram, None when there is no finite value; more than 512 bins are joined to that many at most."""
    if not record.counts:
        return None
    joined = -(-len(record.counts) // _MOST_BINS)
    starts = range(0, len(record.counts), joined)
    counts = [sum(record.counts[start : start + joined]) for start in starts]
    edges = [*(record.edges[start] for start in starts), record.edges[-1]]
    return {metric_key(record.name, record.split): Bins(edges, counts), **at(record.step, record.time)}


def image_row(record: Image) -> Row | None:
    """An image under its name, None for one that stands in a message or came without content."""
    if not record.name or record.content is None:
        return None
    return {metric_key(record.name): _picture(record.content, record.media_type, record.caption), **at(record.step, record.time)}


def digest_rows(digest: Digest) -> list[Row]:
    """The table of one step's trajectories with the images of their messages beside it, or of rewards that came late."""
    if not digest.split:
        return [{LATE_REWARDS: _filled(LATE_COLUMNS, digest.rows), **at(digest.step, digest.time)}]
    first: Row = {section_key(DIGEST, digest.split): _filled(COLUMNS, digest.rows)}
    images = [_picture(*image) for row in digest.rows for image in message_images(row)]
    pieces = [tuple(images[start : start + _MOST_PICTURES]) for start in range(0, len(images), _MOST_PICTURES)]
    key = section_key(MESSAGE_IMAGES, digest.split)
    shown: list[Row] = [{key: Pictures(piece)} for piece in pieces]
    return [row | at(digest.step, digest.time) for row in [first | (shown[0] if shown else {}), *shown[1:]]]


def _picture(content: bytes, media_type: str, caption: str) -> Picture:
    return Picture(content, media_type.rpartition("/")[2], caption)


def cells(rows: Sequence[Mapping[str, object]]) -> Cells:
    """`rows` under the columns that any of them has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = list(dict.fromkeys(metric_key(name) for name in names))
    return Cells(columns, [[cell(row.get(name)) for name in names] for row in rows])


def _filled(columns: Sequence[str], rows: Sequence[Mapping[str, object]]) -> Cells:
    """Only the columns that any row has something in."""
    used = [name for name in columns if any(row.get(name) is not None for row in rows)]
    return Cells(used, [[cell(row.get(name)) for name in used] for row in rows])


def at(step: int | None, time: int) -> Row:
    """Place of a row: its step on the axis, if it has one, and its own time."""
    axis: Row = {} if step is None else {AXIS: step}
    return axis | {TIMESTAMP: max(time, 0) / 1e9}
