"""Values that every tracker takes: JSON without what makes its client raise or its server choke."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping

_DEEPEST = 20
_WIDEST = (1 << 63) - 1


def plain(value: object, depth: int = 0) -> object:
    """Return `value` as JSON: NaN and infinities as words, bytes as base64, unknown objects as text."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int):
        return value if -_WIDEST <= value <= _WIDEST else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else word(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping) and depth < _DEEPEST:
        return {text(str(key)): plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and depth < _DEEPEST:
        return [plain(item, depth + 1) for item in value]
    return text(str(value))


def cell(value: object) -> object:
    """Return `value` in a table: numbers (NaN and infinities too), text, or the JSON of anything else."""
    if isinstance(value, float):
        return value
    found = plain(value)
    return as_json(found) if isinstance(found, (dict, list)) else found


def as_json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def word(value: float) -> str:
    return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")


def text(value: str) -> str:
    """Return `value` without NUL and lone surrogates, which servers refuse."""
    return value.replace("\0", "␀").encode("utf-8", "replace").decode()
