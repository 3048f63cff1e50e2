"""OTLP/HTTP: protobuf and JSON, packed or plain; errors answer in the encoding of the request."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from ._auth import Gate
from ._encoding import EncodingError, TooLargeError, finish, unpacking
from ._intake import RETRY_AFTER, FullError, GarbageError, Intake
from ._otlp_json import JsonError, to_protobuf
from ._signals import SIGNALS, Signal
from ._status import INVALID_ARGUMENT, UNAUTHENTICATED, UNAVAILABLE, status_json, status_protobuf

Endpoint = Callable[[Request], Awaitable[Response]]
PROTOBUF, JSON = "application/x-protobuf", "application/json"
_ACCEPTED = {"accept-encoding": "gzip, zstd, deflate"}
"""Tells a sender what it may pack with (RFC 7694)."""
_INLINE_STEPS = 8
"""Steps of unpacking that are taken in the event loop, enough for a request of the shipper's; what is left then, as of a bomb,
is taken in a thread."""
_INLINE_JSON = 1 << 14
"""Bytes of JSON that are converted in the event loop; more goes to a thread."""


class _Answer(Exception):
    """An error response."""

    def __init__(self, http: int, code: int, message: str, retry_after: int | None = None) -> None:
        super().__init__(message)
        self.http, self.code, self.message, self.retry_after = http, code, message, retry_after

    def response(self, media: str) -> Response:
        headers = {"retry-after": str(self.retry_after)} if self.retry_after else {}
        if self.http == 401:
            headers["www-authenticate"] = "Bearer"
        parts = (self.code, self.message, self.retry_after)
        body = msgspec.json.encode(status_json(*parts)) if media == JSON else status_protobuf(*parts)
        return Response(body, self.http, headers, media)


def otlp_routes(intake: Intake, gate: Gate, max_request: int) -> list[Route]:
    """Return the routes `/v1/traces`, `/v1/metrics`, `/v1/logs`."""
    return [Route(signal.path, _export(signal, intake, gate, max_request), methods=["POST"]) for signal in SIGNALS]


def _export(signal: Signal, intake: Intake, gate: Gate, max_request: int) -> Endpoint:
    async def export(request: Request) -> Response:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            if not gate.admits(request.headers.get("authorization")):
                raise _Answer(401, UNAUTHENTICATED, "a bearer token is needed")
            if media not in (PROTOBUF, JSON):
                raise _Answer(415, INVALID_ARGUMENT, f"content type {media!r} is neither {PROTOBUF} nor {JSON}")
            with intake.holding() as hold:
                body = await _read(request, max_request, hold)
                encoding = request.headers.get("content-encoding", "")
                await intake.accept(signal, await _plain(signal, body, media, encoding, max_request))
        except _Answer as answer:
            if answer.http != 503:
                intake.refused[f"http {answer.http}"] += 1
            return answer.response(media)
        except GarbageError as error:
            return _Answer(400, INVALID_ARGUMENT, str(error)).response(media)
        except FullError as error:
            return _Answer(503, UNAVAILABLE, str(error), RETRY_AFTER).response(media)
        except ClientDisconnect:
            intake.refused["cut off"] += 1
            return Response(status_code=400)
        return Response(b"{}" if media == JSON else b"", 200, _ACCEPTED, media)

    return export


async def _read(request: Request, limit: int, hold: Callable[[int], None]) -> bytes:
    declared = request.headers.get("content-length", "")
    chunks, size = [], int(declared) if declared.isdecimal() else 0
    if size <= limit:
        size = 0
        async for chunk in request.stream():
            hold(len(chunk))
            chunks.append(chunk)
            size += len(chunk)
            if size > limit:
                break
    if size > limit:
        raise _Answer(413, INVALID_ARGUMENT, f"the request is larger than {limit} bytes (limits.request)")
    return b"".join(chunks)


async def _plain(signal: Signal, body: bytes, media: str, encoding: str, limit: int) -> bytes:
    """Return the body as protobuf bytes."""
    try:
        plain = await _unpacked(body, encoding, limit)
        if media != JSON:
            return plain
        return to_protobuf(signal, plain) if len(plain) <= _INLINE_JSON else await asyncio.to_thread(to_protobuf, signal, plain)
    except LookupError as error:
        raise _Answer(415, INVALID_ARGUMENT, str(error)) from None
    except TooLargeError as error:
        raise _Answer(413, INVALID_ARGUMENT, str(error)) from None
    except (EncodingError, JsonError) as error:
        raise _Answer(400, INVALID_ARGUMENT, str(error)) from None


async def _unpacked(body: bytes, encoding: str, limit: int) -> bytes:
    """Unpack in the event loop what is small once unpacked, too, which most requests are; of anything else only the beginning."""
    steps = unpacking(body, encoding, limit)
    try:
        for _ in range(_INLINE_STEPS):
            next(steps)
    except StopIteration as end:
        return bytes(end.value)
    return await asyncio.to_thread(finish, steps)
