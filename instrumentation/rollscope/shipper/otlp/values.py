"""Plain values → OTLP `AnyValue`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


def put_attributes(target: Any, attributes: Mapping[str, object]) -> None:
    """Append `attributes` to `target`, a repeated `KeyValue` field."""
    add = target.add
    for key, value in attributes.items():
        pair = add()
        pair.key = key
        put_value(pair.value, value)


def put_value(target: Any, value: object) -> None:
    """Set `target`, an `AnyValue`; None leaves it empty.

    An integer beyond 64 bits becomes its decimal text. Raises `ValueError` for text that is no UTF-8 and for other types.
    """
    kind = type(value)
    if kind is str:
        target.string_value = value
    elif kind is bool:
        target.bool_value = value
    elif kind is int:
        _put_int(target, value)
    elif kind is float:
        target.double_value = value
    elif kind is bytes:
        target.bytes_value = value
    elif kind is dict:
        _put_map(target, value)
    elif kind is list or kind is tuple:
        _put_list(target, value)
    elif value is not None:
        raise ValueError(f"no OTLP form for a value of type {kind.__name__}")


def _put_int(target: Any, value: Any) -> None:
    if _INT64_MIN <= value <= _INT64_MAX:
        target.int_value = value
    else:
        target.string_value = str(value)


def _put_map(target: Any, value: Any) -> None:
    target.kvlist_value.SetInParent()
    put_attributes(target.kvlist_value.values, value)


def _put_list(target: Any, value: Any) -> None:
    target.array_value.SetInParent()
    add = target.array_value.values.add
    for element in value:
        put_value(add(), element)
