"""One number of the host at one moment."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Reading(NamedTuple):
    """A point of a metric of the vocabulary, which says unit and instrument."""

    name: str
    value: float
    attributes: Mapping[str, str]
