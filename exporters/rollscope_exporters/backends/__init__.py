"""Destinations: one file or folder each, found by the entry point group `rollscope.backends`."""

from ._names import decode_name, encode_name
from ._protocol import Backend, BusyError, RejectedError, UnavailableError

__all__ = [
    "Backend",
    "BusyError",
    "RejectedError",
    "UnavailableError",
    "decode_name",
    "encode_name",
]
