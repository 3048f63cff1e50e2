"""OTLP/JSON to OTLP/protobuf.

OTLP departs from protobuf's own JSON in one thing: trace and span ids are hex, not base64. The rest (camelCase, 64-bit
integers as text, unknown fields passed over) `json_format` reads. Source: the OTLP specification, "JSON Protobuf Encoding".
"""

from __future__ import annotations

import base64
from typing import Any

import msgspec
from google.protobuf import json_format

from ._signals import Signal

_ID_BYTES = {"traceId": 16, "spanId": 8, "parentSpanId": 8, "trace_id": 16, "span_id": 8, "parent_span_id": 8}
_decode = msgspec.json.Decoder().decode


class JsonError(ValueError):
    """When a body is not OTLP/JSON."""


def to_protobuf(signal: Signal, body: bytes) -> bytes:
    """Return the request as protobuf bytes. Raises JsonError."""
    message = signal.request()
    try:
        tree = _decode(body)
        if not isinstance(tree, dict):
            raise JsonError("it is not a map")
        _ids_to_base64(tree)
        json_format.ParseDict(tree, message, ignore_unknown_fields=True)
        return message.SerializeToString()
    except (msgspec.DecodeError, json_format.ParseError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise JsonError(f"the body is no OTLP/JSON {message.DESCRIPTOR.name}: {error}") from None


def _ids_to_base64(tree: Any) -> None:
    """Rewrite ids in place. Attribute names are values in OTLP (`{"key": …}`), so a map key of these names is an id."""
    if isinstance(tree, list):
        for item in tree:
            _ids_to_base64(item)
    elif isinstance(tree, dict):
        for key, value in tree.items():
            if key in _ID_BYTES and isinstance(value, str):
                tree[key] = _base64(key, value)
            else:
                _ids_to_base64(value)


def _base64(key: str, value: str) -> str:
    try:
        raw = bytes.fromhex(value)
    except ValueError:
        raise JsonError(f"{key} {value[:40]!r} is not hexadecimal") from None
    if len(raw) not in (0, _ID_BYTES[key]):
        raise JsonError(f"{key} {value[:40]!r} has {len(raw)} bytes, not {_ID_BYTES[key]}")
    return base64.b64encode(raw).decode()
