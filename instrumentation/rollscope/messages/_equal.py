"""Equality of JSON values that tells `1`, `1.0` and `True` apart and knows NaN."""

from __future__ import annotations


def same(left: object, right: object) -> bool:
    """Return whether both would be written as the same JSON, the order of keys aside."""
    if left is right:
        return True
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(value, right[key]) for key, value in left.items())
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and (left == right or (left != left and right != right))
