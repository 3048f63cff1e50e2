"""Keep every text of a record within the longest that is allowed."""

from __future__ import annotations

from typing import Any

import msgspec

from ..cut import cut
from ..records import Record


class Shortener:
    """Cuts texts; ids, names of fields and everything shorter stay."""

    def __init__(self, longest: int) -> None:
        """`longest`: bytes of UTF-8."""
        self._longest = longest

    def __call__(self, record: Record, size: int) -> Record:
        """Return `record` with its texts cut; `size` is its encoded size, an upper bound for every text in it."""
        if size <= self._longest:
            return record
        fields = {name: self._cut(getattr(record, name)) for name in record.__struct_fields__}
        return type(record)(**fields)

    def _cut(self, value: Any) -> Any:
        if isinstance(value, str):
            return cut(value, self._longest, "trajectories.max_bytes")
        if isinstance(value, dict):
            return {name: self._cut(item) for name, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._cut(item) for item in value)
        if isinstance(value, msgspec.Struct):
            return type(value)(**{name: self._cut(getattr(value, name)) for name in value.__struct_fields__})
        return value
