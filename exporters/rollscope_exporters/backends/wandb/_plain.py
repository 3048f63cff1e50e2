"""Values in a history row."""

from __future__ import annotations

import math

from .._plain import as_json, cell, plain, text

__all__ = ["as_json", "cell", "plain", "scalar", "text"]
_WIDEST = (1 << 63) - 1


def scalar(value: bool | int | float | str) -> bool | int | float | str:
    """`value` in a history row. Integers beyond 64 bits become floats; NaN and infinities stay."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, int) and not isinstance(value, bool) and not -_WIDEST <= value <= _WIDEST:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value
