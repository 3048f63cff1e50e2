"""OTLP over gRPC. `grpcio` is an extra, imported when an endpoint asks for it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from ...settings.endpoint import Endpoint, Signal
from . import cures
from .http import USER_AGENT, is_loopback
from .outcome import Outcome, TransportError, Verdict
from .protobuf import partial_success, retry_delay

_METHODS: dict[Signal, str] = {
    "traces": "/opentelemetry.proto.collector.trace.v1.TraceService/Export",
    "metrics": "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export",
    "logs": "/opentelemetry.proto.collector.logs.v1.LogsService/Export",
}
_VERDICTS = {
    "INVALID_ARGUMENT": Verdict.REFUSED,
    "UNIMPLEMENTED": Verdict.UNSUPPORTED,
    "INTERNAL": Verdict.FAILED,
    "UNKNOWN": Verdict.FAILED,
    "DATA_LOSS": Verdict.FAILED,
}
"""Status codes that are not simply tried again."""
_DETAILS = "grpc-status-details-bin"


class GrpcTransport:
    """Calls `Export` of one signal's service. Raises `TransportError` without `grpcio`."""

    def __init__(self, endpoint: Endpoint, signal: Signal) -> None:
        try:
            self._grpc: Any = importlib.import_module("grpc")
        except ImportError as error:
            raise TransportError(f"the gRPC endpoint {endpoint.url} needs grpcio: pip install 'rollscope[grpc]'") from error
        self._endpoint = endpoint
        self._signal: Signal = signal
        self._metadata = tuple((name.lower(), value) for name, value in endpoint.headers.items())
        self._compression = self._grpc.Compression.NoCompression if endpoint.compression == "none" else self._grpc.Compression.Gzip
        self._credentials = self._read_credentials() if endpoint.secure else None
        self._channel: Any = None

    def send(self, body: bytes) -> Outcome:
        """See `Transport.send`."""
        try:
            response, _ = self._export().with_call(
                body, timeout=self._endpoint.timeout, metadata=self._metadata, compression=self._compression
            )
        except self._grpc.RpcError as error:
            return self._failed(error)
        rejected, message = partial_success(response)
        return Outcome(Verdict.ACCEPTED, message, rejected=rejected)

    def close(self) -> None:
        """See `Transport.close`."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def _export(self) -> Any:
        if self._channel is None:
            parts = urlsplit(self._endpoint.url)
            target = parts.netloc.rpartition("@")[2]
            options = [("grpc.primary_user_agent", USER_AGENT), ("grpc.enable_http_proxy", int(not is_loopback(parts.hostname or "")))]
            if self._credentials is not None:
                self._channel = self._grpc.secure_channel(target, self._credentials, options=options)
            else:
                self._channel = self._grpc.insecure_channel(target, options=options)
        return self._channel.unary_unary(_METHODS[self._signal], request_serializer=None, response_deserializer=None)

    def _failed(self, error: Any) -> Outcome:
        code = error.code().name
        delay = next((retry_delay(value) for key, value in error.trailing_metadata() or () if key == _DETAILS), None)
        said = f"{code} {error.details() or ''}".strip()
        detail = f"{cures.shown(self._endpoint.url)}: {said}: {cures.for_grpc(code, said, delay)}"
        if code == "UNAVAILABLE":
            self.close()  # a channel that failed once can stay in its own growing pause long after the peer is back
        if code == "UNIMPLEMENTED" and "ompression" in said and self._compression != self._grpc.Compression.NoCompression:
            self._compression = self._grpc.Compression.NoCompression
            return Outcome(Verdict.RETRY, detail, 0.0)
        if code == "RESOURCE_EXHAUSTED" and delay is None:
            return Outcome(Verdict.TOO_LARGE, detail)
        return Outcome(_VERDICTS.get(code, Verdict.RETRY), detail, delay)

    def _read_credentials(self) -> Any:
        endpoint = self._endpoint
        try:
            ca, key, certificate = (
                Path(path).read_bytes() if path else None
                for path in (endpoint.certificate, endpoint.client_key, endpoint.client_certificate)
            )
        except OSError as error:
            raise TransportError(f"certificate files for {endpoint.url} cannot be read: {error}") from error
        return self._grpc.ssl_channel_credentials(ca, key, certificate)
