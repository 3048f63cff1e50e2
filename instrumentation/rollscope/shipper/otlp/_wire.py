"""The little of protobuf's wire format that is written by hand: length-delimited fields around pieces encoded before."""

from __future__ import annotations


def framed(field: int, payload: bytes) -> bytes:
    """Return `payload` as a length-delimited field. `field` is below 16."""
    return bytes((field << 3 | 2,)) + varint(len(payload)) + payload


def varint(number: int) -> bytes:
    """Base-128 form of a number that is not negative."""
    if number < 0x80:
        return bytes((number,))
    digits = bytearray()
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)
