"""OTLP attributes and values → Python objects.

The walk over attributes is most of what a span costs here, and most of them have been seen before: identity, names, roles, small numbers.
Those are found by their bytes.
"""

from __future__ import annotations

from collections.abc import Iterable

from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from rollscope import vocabulary as v

_INTEGER = 0x18
"""Tag of `AnyValue.int_value`."""
_TOO_LARGE = 1 << 63
"""On the wire a negative number is one of these."""
_PAIR_BYTES = 128
_PAIRS = 8_192
"""Attributes kept: 2 MiB or so. What is new each time, such as record numbers, pushes the others out now and then."""
_PLAIN = frozenset({str, int, float, bool, bytes, type(None)})
"""What nobody can change, so that many may have it."""


class _Pairs(dict[bytes, tuple[str, object]]):
    """Encoded attribute → key and value; small ones are kept."""

    def __missing__(self, encoded: bytes) -> tuple[str, object]:
        pair = _parse(encoded)
        value = pair.value
        found = pair.key, value.string_value or value.int_value or value.double_value or value.bytes_value or _other(value)
        if len(encoded) <= _PAIR_BYTES and type(found[1]) in _PLAIN:
            if len(self) >= _PAIRS:
                self.clear()
            self[encoded] = found
        return found


_parse = KeyValue.FromString
_pair = _Pairs().__getitem__


def known_attributes(encoded: Iterable[bytes]) -> dict[str, object]:
    """Return a list of encoded attributes as a dict; of a repeated key the last one wins. Raises `DecodeError`."""
    return dict(map(_pair, encoded))


def attributes(pairs: Iterable[KeyValue]) -> dict[str, object]:
    """Return a list of attributes as a dict; of a repeated key the last one wins."""
    found: dict[str, object] = {}
    for pair in pairs:
        value = pair.value
        found[pair.key] = value.string_value or value.bytes_value or value.int_value or value.double_value or _other(value)
    return found


def resource_attributes(encoded: bytes) -> dict[str, object]:
    """Return the attributes of an encoded resource. Raises `DecodeError`."""
    return attributes(Resource.FromString(encoded).attributes[:])


_NUMBER = b"\n" + bytes([len(v.PRODUCER_SEQUENCE)]) + v.PRODUCER_SEQUENCE.encode() + b"\x12"
"""How the attribute that numbers a record begins; its length, the tag of an integer and the integer follow."""
_NUMBER_AT = len(_NUMBER) + 2


def split_number(encoded: list[bytes]) -> int:
    """Take the record's number off the end of its attributes, where the shipper puts it; 0 when it is not there.

    It is the one attribute that no two records share, so it is read here and not kept.
    """
    last = encoded[-1] if encoded else b""
    if not last.startswith(_NUMBER) or last[_NUMBER_AT - 1] != _INTEGER:
        return 0
    number = 0
    for digit in last[: _NUMBER_AT - 1 : -1]:  # the highest comes last
        number = number << 7 | digit & 0x7F
    del encoded[-1]
    return number if number < _TOO_LARGE else 0


def any_value(value: AnyValue) -> object:
    """One `AnyValue` as str, bool, int, float, bytes, list, dict or None."""
    # A value that is true is found without asking which field is set: for the usual string one access instead of two.
    return value.string_value or value.int_value or value.double_value or value.bytes_value or _other(value)


def _other(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [any_value(item) for item in value.array_value.values[:]]
    if kind == "kvlist_value":
        return attributes(value.kvlist_value.values[:])
    return getattr(value, kind)


def integer(value: object) -> int | None:
    """Return the value when it is an int, else None; a bool is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def record_number(value: object) -> int:
    """Return a record's number within its producer, 0 for what is none."""
    return value if isinstance(value, int) and value > 0 else 0
