"""Undo `Content-Encoding`, never beyond a limit: a kilobyte that unpacks to a gigabyte is refused."""

from __future__ import annotations

import zlib

import zstandard

_GZIP_OR_ZLIB = 47
_GZIP = 31
_RAW = -15


class EncodingError(ValueError):
    """When a body is not what its Content-Encoding says."""


class TooLargeError(ValueError):
    """When a body is larger than the limit once unpacked."""


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the plain body. Raises EncodingError, TooLargeError, or LookupError for an unknown encoding."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        plain = body
    elif name in ("gzip", "x-gzip"):
        plain = _inflate(body, _GZIP, limit)
    elif name in ("deflate", "zlib"):
        plain = _deflated(body, limit)
    elif name == "zstd":
        plain = _zstd(body, limit)
    else:
        raise LookupError(f"content encoding {encoding!r} is not one of gzip, zstd, deflate")
    if len(plain) > limit:
        raise _too_large(limit)
    return plain


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"the request is larger than {limit} bytes (limits.request)")


def _deflated(body: bytes, limit: int) -> bytes:
    """HTTP's `deflate` is zlib; some clients send it raw."""
    try:
        return _inflate(body, _GZIP_OR_ZLIB, limit)
    except EncodingError:
        return _inflate(body, _RAW, limit)


def _inflate(body: bytes, window: int, limit: int) -> bytes:
    plain = bytearray()
    while body:  # gzip allows several members one after the other
        member = zlib.decompressobj(window)
        try:
            plain += member.decompress(body, limit - len(plain) + 1)
        except zlib.error as error:
            raise EncodingError(f"the body cannot be unpacked: {error}") from None
        if len(plain) > limit:
            raise _too_large(limit)
        if not member.eof:
            raise EncodingError("the body ends in the middle of its compressed data")
        body = member.unused_data
    return bytes(plain)


def _zstd(body: bytes, limit: int) -> bytes:
    if not body:
        return b""
    unpacker = zstandard.ZstdDecompressor()
    try:
        size = zstandard.frame_content_size(body)
        if size < 0:  # a stream does not say; it is read up to the limit, then whole and strictly
            size = len(unpacker.stream_reader(body).read(limit + 1))
        if size > limit:
            raise _too_large(limit)
        return bytes(unpacker.decompress(body, max_output_size=size + 1, allow_extra_data=False))
    except zstandard.ZstdError as error:
        raise EncodingError(f"the body cannot be unpacked: {error}") from None
