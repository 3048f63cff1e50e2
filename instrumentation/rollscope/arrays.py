"""Token arrays as engines give them: lists, numpy arrays, torch tensors in memory, packed buffers.

A list stays a list: msgpack writes 8,192 ids in 25 µs where packing them takes 130 µs, and packing is the shipper's work. An array
becomes little-endian bytes. Neither numpy nor torch is imported here: what hands over an array has done so.

A tensor on a device is refused, never read: reading it would make the rollout wait for the GPU. Call `.tolist()` where the wait is wanted.
"""

from __future__ import annotations

import math
import sys
from array import array
from operator import index
from typing import Any, Literal, TypeAlias

__all__ = ["FLOATS", "IDS", "LEAD", "MASK", "ArrayError", "Kind", "Packed", "as_bytes", "as_list", "cut", "length", "normalise", "tail"]

Kind = Literal["<i4", "<f2", "|u1"]
IDS: Kind = "<i4"
FLOATS: Kind = "<f2"
MASK: Kind = "|u1"
_SIZE = {IDS: 4, FLOATS: 2, MASK: 1}
_INT_KINDS = "iub"
_BEYOND = 1 << 31
LEAD = 8
"""Ids that a segment is told of those before it: a character may be split between segments."""

Packed: TypeAlias = "list[Any] | bytes"
"""A list of numbers, or little-endian bytes of one kind."""


class ArrayError(ValueError):
    """When a token array cannot be recorded: says which one and what is wrong with it."""


def length(values: Packed, kind: Kind) -> int:
    """Return how many elements a normalised array has."""
    return len(values) // _SIZE[kind] if isinstance(values, bytes) else len(values)


def cut(values: Packed, start: int, end: int, kind: Kind = IDS) -> Packed:
    """Return elements `start` to `end` of a normalised array; a negative start is the beginning."""
    start, size = max(start, 0), _SIZE[kind]
    return values[start * size : end * size] if isinstance(values, bytes) else values[start:end]


def tail(ids: Packed) -> Packed:
    """Return the last `LEAD` ids."""
    return ids[-LEAD * _SIZE[IDS] :] if isinstance(ids, bytes) else ids[-LEAD:]


def as_list(ids: Packed) -> list[int]:
    """Return ids as a list."""
    if isinstance(ids, list):
        return ids
    size = _SIZE[IDS]
    return [int.from_bytes(ids[at : at + size], "little", signed=True) for at in range(0, len(ids), size)]


def as_bytes(ids: Packed) -> bytes:
    """Return ids as packed bytes. Raises `OverflowError` for an id beyond 32 bits."""
    return ids if isinstance(ids, bytes) else b"".join(int(id).to_bytes(_SIZE[IDS], "little", signed=True) for id in ids)


def normalise(values: object, kind: Kind, name: str) -> Packed:
    """Return a one-dimensional array as a list of plain numbers or as packed bytes.

    The list may be the caller's own: encode it before the call returns. Bytes are taken as packed already (little-endian int32,
    float16, one byte a mask element). Raises `ArrayError` for anything nested, of another type or on a device.
    """
    try:
        if isinstance(values, list):
            return _from_list(values, kind)
        if isinstance(values, bytes):
            return _from_bytes(values, kind)
        if isinstance(values, (tuple, range)):
            return _from_list(list(values), kind)
        if isinstance(values, (array, memoryview, bytearray)):
            return _from_list(list(values), kind)
        return _from_array(values, kind)
    except ArrayError as error:
        raise ArrayError(f"{name}: {error}") from None
    except (TypeError, ValueError, OverflowError) as error:
        raise ArrayError(f"{name}: not a flat array of numbers ({error})") from error


def _from_list(values: list[Any], kind: Kind) -> list[Any]:
    if not values:
        return values
    if kind == IDS:
        # Only the ends are looked at: looking at 8,192 ids takes as long as writing them down. What else is wrong in there the shipper
        # counts when it packs the record.
        return values if type(values[0]) is int and type(values[-1]) is int else [index(value) for value in values]
    # The sum looks at every element in C; its type tells a plain list from one that needs the slow copy.
    total = type(sum(values)) if isinstance(values[0], (int, float)) else None
    if total is int or total is float:
        return values if kind == FLOATS or total is int else [bool(value) for value in values]
    return [_number(value) for value in values] if kind == FLOATS else [bool(value) for value in values]


def _number(value: Any) -> float:
    return math.nan if value is None else float(value)


def _from_bytes(values: bytes, kind: Kind) -> bytes:
    if len(values) % _SIZE[kind]:
        raise ArrayError(f"{len(values)} packed bytes are no whole number of {_SIZE[kind]}-byte elements")
    return values


def _from_array(values: Any, kind: Kind) -> bytes:
    origin = type(values).__module__.partition(".")[0]
    if origin == "torch":
        values = _from_tensor(values)
    elif origin != "numpy":
        raise ArrayError(f"a {type(values).__module__}.{type(values).__qualname__} is no list, numpy array or torch tensor")
    if values.ndim != 1:
        raise ArrayError(f"has the shape {tuple(values.shape)}, one dimension is wanted")
    if kind == IDS and values.dtype.kind not in _INT_KINDS:
        raise ArrayError(f"has the type {values.dtype}, integers are wanted")
    if values.dtype.str == kind and kind != MASK:
        return values.tobytes()  # type: ignore[no-any-return]
    if kind == IDS and values.dtype.itemsize >= _SIZE[IDS] and values.size:
        _check_range(values)
    numpy = sys.modules["numpy"]
    with numpy.errstate(all="ignore"):
        packed: bytes = (values != 0 if kind == MASK else values).astype(kind).tobytes()
    return packed


def _check_range(ids: Any) -> None:
    """Raise `ArrayError` for an id beyond 32 bits: numpy would make another id of it without a word."""
    # One look is enough for what all ids are, small and not negative: as unsigned numbers negative ones are large.
    if ids.view(ids.dtype.str.replace("i", "u")).max() >= _BEYOND and not -_BEYOND <= ids.min() <= ids.max() < _BEYOND:
        raise ArrayError(f"has ids from {ids.min()} to {ids.max()}, beyond 32 bits")


def _from_tensor(tensor: Any) -> Any:
    if str(tensor.device) != "cpu":
        raise ArrayError(f"lies on {tensor.device} and is not read, to not wait for it; hand over tensor.tolist() where waiting is fine")
    tensor = tensor.detach()
    return (tensor.float() if tensor.dtype.is_floating_point else tensor).numpy()
