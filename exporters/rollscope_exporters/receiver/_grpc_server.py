"""OTLP/gRPC: requests stay bytes, so that gRPC's own deserialisation costs nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import grpc

from ..settings import Tls
from ._auth import Gate
from ._intake import RETRY_AFTER, FullError, GarbageError, Intake
from ._signals import SIGNALS, Signal
from ._status import INVALID_ARGUMENT, UNAVAILABLE, status_protobuf

Export = Callable[[bytes, Any], Awaitable[bytes]]


def make_grpc_server(intake: Intake, gate: Gate, max_request: int) -> Any:
    """Return a `grpc.aio.Server` for the three signals, not yet listening."""
    server = grpc.aio.server(
        options=[
            ("grpc.max_receive_message_length", max_request),  # gRPC holds it against the unpacked size too
            ("grpc.so_reuseport", 0),  # a second bridge on this port must fail, not take half of the requests
            ("grpc.keepalive_permit_without_calls", 1),
            ("grpc.http2.min_ping_interval_without_data_ms", 5_000),  # a gateway asks every 10 s whether we are there
        ]
    )
    for signal in SIGNALS:
        method = grpc.unary_unary_rpc_method_handler(_export(signal, intake, gate))
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(signal.service, {"Export": method}),))
    return server


def _export(signal: Signal, intake: Intake, gate: Gate) -> Export:
    async def export(request: bytes, context: Any) -> bytes:
        if not gate.admits(dict(context.invocation_metadata() or ()).get("authorization")):
            intake.refused["unauthenticated"] += 1
            await context.abort(grpc.StatusCode.UNAUTHENTICATED, "a bearer token is needed")
        try:
            await intake.accept(signal, request)
        except GarbageError as error:
            await _abort(context, grpc.StatusCode.INVALID_ARGUMENT, status_protobuf(INVALID_ARGUMENT, str(error)), error)
        except FullError as error:
            await _abort(context, grpc.StatusCode.UNAVAILABLE, status_protobuf(UNAVAILABLE, str(error), RETRY_AFTER), error)
        return b""

    return export


async def _abort(context: Any, code: grpc.StatusCode, status: bytes, error: Exception) -> None:
    await context.abort(code, str(error), (("grpc-status-details-bin", status),))


def grpc_credentials(tls: Tls) -> grpc.ServerCredentials:
    """Read the certificates; a client authority makes client certificates compulsory."""
    authority = tls.client_ca_file.read_bytes() if tls.client_ca_file else None
    pair = (tls.key_file.read_bytes(), tls.cert_file.read_bytes())
    return grpc.ssl_server_credentials([pair], root_certificates=authority, require_client_auth=authority is not None)
