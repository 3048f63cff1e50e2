"""Undo `Content-Encoding`, never beyond a limit: a kilobyte that unpacks to a gigabyte is refused."""

from __future__ import annotations

import zlib
from collections.abc import Generator

import zstandard

Steps = Generator[None, None, bytes]
"""Work cut into steps, each of at most `STEP` bytes in and out; it returns the plain body."""

STEP = 1 << 18

_GZIP_OR_ZLIB = 47
_GZIP = 31
_RAW = -15
_FIRST_PIECE = 512
"""Bytes that a further gzip member is given at first: zlib copies what lies behind a member, once a member."""
_MEMBERS = 100_000
"""A sender packs a request once or a few times; each member costs a decompressor, be it empty."""
_BEHIND_EMPTY = "the body cannot be unpacked: it goes on behind an empty frame"


class EncodingError(ValueError):
    """When a body is not what its Content-Encoding says."""


class TooLargeError(ValueError):
    """When a body is larger than the limit once unpacked."""


def unpack(body: bytes, encoding: str, limit: int) -> bytes:
    """Return the plain body. Raises EncodingError, TooLargeError, or LookupError for an unknown encoding."""
    return finish(unpacking(body, encoding, limit))


def unpacking(body: bytes, encoding: str, limit: int) -> Steps:
    """Do the work of `unpack` in steps, so that a caller can begin it in one place and `finish` it in another."""
    name = encoding.strip().lower()
    if name in ("", "identity"):
        plain = body
    elif name in ("gzip", "x-gzip"):
        plain = yield from _inflate(body, _GZIP, limit)
    elif name in ("deflate", "zlib"):
        plain = yield from _deflated(body, limit)
    elif name == "zstd":
        plain = yield from _zstd(body, limit)
    else:
        raise LookupError(f"content encoding {encoding!r} is not one of gzip, zstd, deflate")
    if len(plain) > limit:
        raise _too_large(limit)
    return plain


def finish(steps: Steps) -> bytes:
    """Take all steps that are left."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return bytes(end.value)


def _too_large(limit: int) -> TooLargeError:
    return TooLargeError(f"the request is larger than {limit} bytes (limits.request)")


def _deflated(body: bytes, limit: int) -> Steps:
    """HTTP's `deflate` is zlib; some clients send it raw."""
    try:
        return (yield from _inflate(body, _GZIP_OR_ZLIB, limit))
    except EncodingError:
        return (yield from _inflate(body, _RAW, limit))


def _inflate(body: bytes, window: int, limit: int) -> Steps:
    """Undo gzip, which allows several members one after the other, zlib and raw deflate."""
    plain: list[bytes] = []
    rest, size, members, piece = memoryview(body), 0, 0, STEP
    while rest:
        if members == _MEMBERS:
            raise EncodingError(f"the body has more than {_MEMBERS} compressed members")
        member, members = zlib.decompressobj(window), members + 1
        while not member.eof:
            given = rest[:piece]
            try:
                plain.append(member.decompress(given, min(STEP, limit - size + 1)))
            except zlib.error as error:
                raise EncodingError(f"the body cannot be unpacked: {error}") from None
            size += len(plain[-1])
            if size > limit:
                raise _too_large(limit)
            if not (given or plain[-1] or member.eof):
                raise EncodingError("the body ends in the middle of its compressed data")
            left = member.unused_data if member.eof else member.unconsumed_tail
            rest = rest[len(given) - len(left) :]
            piece = min(2 * piece, STEP)
            yield
        piece = _FIRST_PIECE
    return b"".join(plain)


def _zstd(body: bytes, limit: int) -> Steps:
    if not body:
        return b""
    unpacker = zstandard.ZstdDecompressor()
    try:
        size = zstandard.frame_content_size(body)
        if size > limit:
            raise _too_large(limit)
        yield from _announced(max(len(body), size))
        if size == 0:
            return _empty(unpacker, body)
        if size < 0:  # a stream does not say; it is read up to the limit, then whole and strictly
            size, reader = 0, unpacker.stream_reader(body)
            while count := len(reader.read(STEP)):
                size += count
                if size > limit:
                    raise _too_large(limit)
                yield
        plain = bytes(unpacker.decompress(body, max_output_size=size + 1, allow_extra_data=False))
    except zstandard.ZstdError as error:
        raise EncodingError(f"the body cannot be unpacked: {error}") from None
    if len(plain) != size:
        raise EncodingError(_BEHIND_EMPTY)
    return plain


def _announced(size: int) -> Generator[None, None, None]:
    """Stand for work that cannot be interrupted, before it is done."""
    for _ in range(size // STEP):
        yield


def _empty(unpacker: zstandard.ZstdDecompressor, body: bytes) -> bytes:
    """Return nothing, when nothing is what there is: of a frame that says it is empty `decompress` looks at the head only."""
    frame = unpacker.decompressobj()
    if unpacker.stream_reader(body).read(1) or frame.decompress(body) or frame.unused_data:
        raise EncodingError(_BEHIND_EMPTY)
    if not frame.eof:
        raise EncodingError("the body ends in the middle of its compressed data")
    return b""
