"""Records as msgpack, the form in which they are stored and handed on."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from .runs import Artifact, RunFinished, RunStarted
from .spans import LogLine, Trace
from .steps import Histogram, Image, StepMetrics, Table
from .trajectories import LateFacts, Trajectory

Record: TypeAlias = RunStarted | RunFinished | StepMetrics | Trajectory | Trace | LateFacts | Table | Histogram | Image | Artifact | LogLine
SIGNALS: tuple[str, ...] = ("runs", "metrics", "trajectories", "traces", "tables", "histograms", "images", "artifacts", "logs")

decode = msgspec.msgpack.Decoder(Record).decode
_encode = msgspec.msgpack.Encoder().encode
_INT64 = 1 << 63
_PRINTABLE = 4096
"""Bits of an integer that Python turns into decimal digits without complaint, and in no time."""
_DEPTH = 100
"""Levels of a value; far more than content has, far fewer than an encoder or a backend can follow."""


def encode(record: Record) -> bytes:
    """Return `record` as msgpack. What JSON can say and msgpack cannot is replaced: an integer beyond 64 bits by its decimal text, a lone
    surrogate by U+FFFD, what is nested too deep by "…"."""
    try:
        return _encode(record)
    except (OverflowError, RecursionError, UnicodeError):
        return _encode(_plain(record, _DEPTH))


def _plain(value: object, depth: int) -> object:
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, int):
        if -_INT64 <= value < 2 * _INT64:
            return value
        return str(value) if value.bit_length() < _PRINTABLE else hex(value)
    if isinstance(value, msgspec.Struct):
        names = type(value).__struct_fields__
        return msgspec.structs.replace(value, **{name: _plain(getattr(value, name), depth) for name in names})
    if not isinstance(value, (dict, list, tuple)):
        return value
    if depth == 0:
        return "…"
    if isinstance(value, dict):
        return {_plain(name, depth - 1): _plain(inner, depth - 1) for name, inner in value.items()}
    return [_plain(inner, depth - 1) for inner in value]
