"""Pixels → PNG, and what the first bytes of an encoded image say: no imaging library is needed for either."""

from __future__ import annotations

import struct
import zlib
from typing import Any, NamedTuple

__all__ = ["Header", "NotAnImageError", "as_pixels", "encode_png", "read_header"]

_PNG, _JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
_COLOURS = {1: 0, 2: 4, 3: 2, 4: 6}
"""Channels → PNG colour type: grey, grey and alpha, RGB, RGBA."""
_LEVEL = 3
"""Of zlib: three times as fast as the default, a tenth larger."""
_SIZELESS_MARKERS = frozenset({0xC4, 0xC8, 0xCC})
_MOST_BYTES = 256 << 20


class NotAnImageError(ValueError):
    """When a value is no image of a kind that can be recorded."""


class Header(NamedTuple):
    """What an encoded image says about itself."""

    media_type: str
    width: int
    """Pixels, 0 where it cannot be told."""
    height: int


def read_header(content: bytes) -> Header:
    """Return type and size of an encoded image. Raises `NotAnImageError` for anything but PNG, JPEG, GIF and WebP."""
    if content.startswith(_PNG):
        width, height = struct.unpack_from(">II", content, 16) if len(content) >= 24 else (0, 0)
        return Header("image/png", width, height)
    if content.startswith(_JPEG):
        return Header("image/jpeg", *_jpeg_size(content))
    if content[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack_from("<HH", content, 6) if len(content) >= 10 else (0, 0)
        return Header("image/gif", width, height)
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return Header("image/webp", 0, 0)
    raise NotAnImageError(f"bytes that begin with {content[:8]!r} are no PNG, JPEG, GIF or WebP image")


def _jpeg_size(content: bytes) -> tuple[int, int]:
    place = 2
    while place + 9 <= len(content) and content[place] == 0xFF:
        marker, length = content[place + 1], struct.unpack_from(">H", content, place + 2)[0]
        if 0xC0 <= marker <= 0xCF and marker not in _SIZELESS_MARKERS:
            height, width = struct.unpack_from(">HH", content, place + 5)
            return width, height
        place += 2 + length
    return 0, 0


def as_pixels(array: Any) -> Any:
    """Return a numpy array, or a CPU torch tensor, as pixels of our own: `(height, width, channels)`, uint8.

    In: `(height, width)` or `(height, width, 1 to 4)`; floats run from 0 to 1, integers from 0 to 255, bools are black and white.
    Raises `NotAnImageError` for another shape, for a tensor on a device (reading it would wait), and beyond 256 MiB of pixels.
    """
    if hasattr(array, "detach"):
        if str(array.device) != "cpu":
            raise NotAnImageError(f"a tensor on {array.device} is not read, to not wait for it; give image.cpu() where waiting is fine")
        array = array.detach().numpy()
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3 or array.shape[2] not in _COLOURS or 0 in array.shape:
        raise NotAnImageError(f"an array of shape {tuple(array.shape)} is no image; give (height, width) or (height, width, 1 to 4)")
    if array.size > _MOST_BYTES:
        raise NotAnImageError(f"an image of {array.shape[1]} x {array.shape[0]} is too large to be encoded")
    if array.dtype.kind == "f":
        return (array.clip(0.0, 1.0) * 255.0 + 0.5).astype("uint8")  # NaN becomes some pixel
    if array.dtype.kind == "b":
        return array.astype("uint8") * 255
    if array.dtype.kind not in "iu":
        raise NotAnImageError(f"an array of {array.dtype} is no image")
    return array.clip(0, 255).astype("uint8")


def encode_png(pixels: Any) -> bytes:
    """Return pixels as `as_pixels` makes them as PNG: some 10 ms per megabyte of pixels."""
    height, width, channels = pixels.shape
    rows = bytearray()
    for row in pixels:
        rows += b"\0"
        rows += row.tobytes()
    header = struct.pack(">IIBBBBB", width, height, 8, _COLOURS[channels], 0, 0, 0)
    return _PNG + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows, _LEVEL)) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
