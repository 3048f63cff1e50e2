"""JSON for people and browsers: no escapes beyond need, NaN and infinities as text, bytes as their length."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping

from .._plain import word


def as_json(value: object, *, indent: int | None = None) -> str:
    """Return compact JSON of any plain value; `NaN` and `Infinity` become strings, for browsers refuse them."""
    separators = (",", ":") if indent is None else None
    try:
        return json.dumps(value, ensure_ascii=False, separators=separators, indent=indent, default=_as_text, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, separators=separators, indent=indent, default=_as_text)


def _finite(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return word(value)
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, (list, tuple)) else value


def _as_text(value: object) -> str:
    return f"{len(value)} bytes" if isinstance(value, bytes) else str(value)
