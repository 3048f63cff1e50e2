"""One number out of whatever holds one."""

from __future__ import annotations

import math
from typing import Any

from .interruption import pass_on

__all__ = ["NotScalarError", "number"]

_INT64 = 1 << 63


class NotScalarError(TypeError):
    """When a value holds no single number or string that could be read without waiting for a device."""


def number(value: Any) -> bool | int | float | str:
    """Return a scalar as a plain one: numpy and CPU torch scalars, arrays of one element, decimals, fractions.

    An integer beyond 64 bits becomes a float. Raises `NotScalarError` for anything else; a tensor on a device is not read.
    """
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value) if -_INT64 <= value < _INT64 else _float(value)
    if isinstance(value, float):
        return float(value)
    if hasattr(value, "dtype") and hasattr(value, "shape"):
        return _of_array(value)
    if hasattr(value, "__float__") and not isinstance(value, (bytes, bytearray)):
        return _float(value)
    raise NotScalarError(f"a {type(value).__qualname__} is no scalar")


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    except Exception as error:
        pass_on(error)
        raise NotScalarError(f"a {type(value).__qualname__} is no number ({error})") from error


def _of_array(value: Any) -> bool | int | float | str:
    size = math.prod(value.shape)
    if size != 1:
        raise NotScalarError(f"an array of {size} elements is no scalar")
    device = getattr(value, "device", "cpu")
    if str(device) != "cpu":
        raise NotScalarError(f"a tensor on {device} is not read, to not wait for it; log tensor.item() where waiting is fine")
    plain = value.item()
    if isinstance(plain, (bool, int, float, str)):
        return number(plain)
    return _float(plain)
