"""A record as JSON that people, pandas, jq and DuckDB read alike.

- token arrays are lists: ids and offsets of integers, log-probabilities and advantages of numbers, the loss mask of 0 and 1;
- NaN and infinities are the strings `NaN`, `Infinity`, `-Infinity`, which JSON has no numbers for;
- other bytes are `{"base64": "…"}`;
- fields that hold their default are left off;
- a generation whose `input` is the beginning of the trajectory's `messages` says how many: `"input_messages": 7`.
"""

from __future__ import annotations

import base64
import math
import struct
from functools import cache

import msgspec

from ...records import Artifact, Generation, Image, Message, Record, TokenSegment, Trajectory
from .._plain import word

_FLOAT16_DIGITS = 4
_encode = msgspec.json.Encoder().encode


def json_line(record: Record) -> bytes:
    """Return `record` as one line, with the newline. The content of an artifact or image is left off: it is a file of its own."""
    if isinstance(record, (Artifact, Image)):
        record = msgspec.structs.replace(record, content=None)
    return _encode(_plain(record)) + b"\n"


def _plain(value: object) -> object:
    if isinstance(value, float):
        return value if math.isfinite(value) else word(value)
    if isinstance(value, Trajectory):
        return {key: item for key, item in _fields(value).items() if key != "images"} | {
            "generations": [_generation(generation, value.messages) for generation in value.generations]
        }
    if isinstance(value, TokenSegment):
        return _fields(value) | _arrays(value)
    if isinstance(value, msgspec.Struct):
        return _fields(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _fields(record: msgspec.Struct) -> dict[str, object]:
    held: dict[str, object] = {"record": record.__struct_config__.tag}
    for field in _fields_of(type(record)):
        value = getattr(record, field.name)
        if field.required or value != _default(field):
            held[field.name] = _plain(value)
    return held


@cache
def _fields_of(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    """Asked once a kind: msgspec evaluates its annotations anew each time, for longer than a record takes."""
    return msgspec.structs.fields(kind)


def _default(field: msgspec.structs.FieldInfo) -> object:
    return field.default if field.default is not msgspec.NODEFAULT else field.default_factory()


def _generation(generation: Generation, messages: list[Message]) -> dict[str, object]:
    held, length = _fields(generation), len(generation.input)
    if length and generation.input == messages[:length]:
        del held["input"]
        held["input_messages"] = length
    return held


def _arrays(segment: TokenSegment) -> dict[str, object]:
    arrays: dict[str, object] = {"ids": _unpacked(segment.ids, "i")}
    if segment.logprobs is not None:
        arrays["logprobs"] = _floats(segment.logprobs)
    if segment.advantages is not None:
        arrays["advantages"] = _floats(segment.advantages)
    if segment.offsets is not None:
        arrays["offsets"] = _unpacked(segment.offsets, "i")
    if segment.loss_mask is not None:
        arrays["loss_mask"] = _bits(segment.loss_mask, segment.count)
    return arrays


def _unpacked(packed: bytes, code: str) -> list[int]:
    return [value for (value,) in struct.iter_unpack(f"<{code}", packed)]


def _floats(packed: bytes) -> list[object]:
    return [_float(bits) for bits in _unpacked(packed, "H")]


@cache
def _float(bits: int) -> object:
    """Return a float16 with the digits that it has, so that 0.1 does not come out as 0.0999755859375. There are no more than 65,536."""
    (value,) = struct.unpack("<e", bits.to_bytes(2, "little"))
    return float(f"{value:.{_FLOAT16_DIGITS}g}") if math.isfinite(value) else word(value)


def _bits(packed: bytes, count: int) -> list[int]:
    return [packed[place >> 3] >> (7 - (place & 7)) & 1 for place in range(min(count, len(packed) * 8))]
