"""Reading the few answers whose message classes are not installed, or are the same three times."""

from __future__ import annotations

from collections.abc import Iterator

_RETRY_INFO = b"type.googleapis.com/google.rpc.RetryInfo"


def fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Field numbers and values of an encoded message: varints as int, the rest as bytes. Ends where it cannot be read."""
    position = 0
    while position < len(data):
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == 0:
            number, position = _varint(data, position)
            yield tag >> 3, number
            continue
        if kind == 2:
            size, position = _varint(data, position)
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
        else:
            return
        yield tag >> 3, data[position : position + size]
        position += size


def partial_success(response: bytes) -> tuple[int, str]:
    """Return rejected records and message of an `Export…ServiceResponse`; the same fields for all three signals."""
    rejected, message = 0, ""
    for field, value in fields(response):
        if field == 1 and isinstance(value, bytes):
            for inner, content in fields(value):
                if inner == 1 and isinstance(content, int):
                    rejected = content
                elif inner == 2 and isinstance(content, bytes):
                    message = content.decode(errors="replace")
    return rejected, message


def status_message(status: bytes) -> str:
    """Message of an encoded `google.rpc.Status`; empty when there is none."""
    return next((value.decode(errors="replace") for field, value in fields(status) if field == 2 and isinstance(value, bytes)), "")


def retry_delay(status: bytes) -> float | None:
    """Return seconds of the `RetryInfo` in an encoded `google.rpc.Status`, None without one."""
    for field, detail in fields(status):
        if field == 3 and isinstance(detail, bytes):
            parts = dict(fields(detail))
            if parts.get(1) == _RETRY_INFO and isinstance(info := parts.get(2), bytes):
                duration = dict(fields(info)).get(1)
                numbers = dict(fields(duration)) if isinstance(duration, bytes) else {}
                seconds, nanos = numbers.get(1, 0), numbers.get(2, 0)
                return (seconds if isinstance(seconds, int) else 0) + (nanos if isinstance(nanos, int) else 0) / 1e9
    return None


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while position < len(data) and shift < 70:
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            break
        shift += 7
    return number, position
