"""Journal records → OTLP. In: one decoded record and who made it. Out: encoded pieces that a request is put together from."""

from ._wire import framed
from .encoder import EncodeError, Encoder
from .heartbeat import OpenSpan, heartbeat
from .item import REQUEST_CAP, Item
from .request import assemble, size_of

__all__ = ["REQUEST_CAP", "EncodeError", "Encoder", "Item", "OpenSpan", "assemble", "framed", "heartbeat", "size_of"]
