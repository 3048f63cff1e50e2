"""What is told at a step: scalars, distributions, tables and images."""

from __future__ import annotations

from typing import ClassVar

from ._base import Plain, Scalar


class StepMetrics(Plain, tag="metrics", kw_only=True, frozen=True):
    """Scalars of one step, or of one moment where a foreign program has no step."""

    signal: ClassVar[str] = "metrics"
    run: str
    time: int
    step: int | None = None
    values: dict[str, Scalar]
    """Name → value; NaN and Inf are kept."""
    split: str = ""
    producer: str = ""


class Histogram(Plain, tag="histogram", kw_only=True, frozen=True):
    """A distribution at one step. `edges` has the shape `(bins + 1,)`, `counts` `(bins,)`; both empty where there was no finite value."""

    signal: ClassVar[str] = "histograms"
    run: str
    name: str
    step: int | None = None
    time: int
    edges: list[float]
    counts: list[int]
    count: int
    """Finite values, those outside given edges included."""
    sum: float = 0.0
    min: float | None = None
    max: float | None = None
    nan: int = 0
    positive_infinite: int = 0
    negative_infinite: int = 0
    split: str = ""
    uid: str = ""


class Table(Plain, tag="table", kw_only=True, frozen=True):
    """Rows of a named table at one step."""

    signal: ClassVar[str] = "tables"
    run: str
    name: str
    step: int | None = None
    time: int
    rows: list[dict[str, object]]
    uid: str = ""


class Image(Plain, tag="image", kw_only=True, frozen=True):
    """An image under a name at a step, or one that stands in the messages of a trajectory (then it has no name)."""

    signal: ClassVar[str] = "images"
    run: str
    name: str = ""
    step: int | None = None
    time: int
    caption: str = ""
    media_type: str = "image/png"
    digest: str
    """`sha256:` and the digest of the content."""
    size: int = 0
    width: int = 0
    """Pixels, 0 where unknown."""
    height: int = 0
    content: bytes | None = None
    """None where it is too large or was lost, and for a repeated image of messages."""
    trajectory: str = ""
    """Whose messages it stands in."""
    note: str = ""
    """Why there is no content."""
    uid: str = ""
