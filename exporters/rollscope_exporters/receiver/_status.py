"""`google.rpc.Status`, the body of every OTLP error. Three fields: written by hand, it needs no package."""

from __future__ import annotations

from typing import Any

INVALID_ARGUMENT = 3
UNAUTHENTICATED = 16
UNAVAILABLE = 14
_RETRY_INFO = "type.googleapis.com/google.rpc.RetryInfo"


def status_protobuf(code: int, message: str, retry_after: int | None = None) -> bytes:
    """Encode `{code, message, details: [RetryInfo]}`; `retry_after` in seconds."""
    details = _field(3, _field(1, _RETRY_INFO.encode()) + _field(2, _retry_info(retry_after))) if retry_after else b""
    return b"\x08" + _varint(code) + _field(2, message.encode("utf-8", "replace")) + details


def status_json(code: int, message: str, retry_after: int | None = None) -> dict[str, Any]:
    """Return the same as a JSON map."""
    status: dict[str, Any] = {"code": code, "message": message}
    if retry_after:
        status["details"] = [{"@type": _RETRY_INFO, "retryDelay": f"{retry_after}s"}]
    return status


def _retry_info(seconds: int) -> bytes:
    return _field(1, b"\x08" + _varint(seconds))


def _field(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(content)) + content


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(out) + bytes([value])
