"""OTLP protobuf bytes → plain groups of spans, logs and points: pure functions, no clock, no state."""

from .groups import Group, Log, Point, UndecodableError
from .request import SIGNALS, decode
from .values import integer

__all__ = ["SIGNALS", "Group", "Log", "Point", "UndecodableError", "decode", "integer"]
