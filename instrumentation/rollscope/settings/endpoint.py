"""Where the shipper sends to, read from one argument or from the standard `OTEL_EXPORTER_OTLP_*` variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast
from urllib.parse import SplitResult, unquote, urlsplit

import msgspec

from ..errors import ConfigurationError

__all__ = ["SIGNALS", "Channel", "Compression", "Endpoint", "Endpoints", "Protocol", "Signal", "resolve_endpoints"]

Signal = Literal["traces", "metrics", "logs"]
SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")
Channel = Literal["traces", "metrics", "logs", "tokens"]
"""What has a destination: the signals, and token payloads, which are logs that a Collector takes on a port of their own."""
Protocol = Literal["http/protobuf", "grpc"]
Compression = Literal["gzip", "zstd", "none"]

_PREFIX = "OTEL_EXPORTER_OTLP_"
_MILLISECONDS_FROM = 1000.0


class Endpoint(msgspec.Struct, frozen=True):
    """One OTLP destination of one signal."""

    url: str
    """Whole URL for HTTP (`…/v1/traces`); scheme, host and port for gRPC."""
    protocol: Protocol = "http/protobuf"
    headers: Mapping[str, str] = {}
    """Request headers or gRPC metadata; secrets, never recorded or printed."""
    compression: Compression = "gzip"
    timeout: float = 10.0
    """Seconds of one request."""
    certificate: str | None = None
    """PEM file with the authority that signed the server's certificate."""
    client_key: str | None = None
    client_certificate: str | None = None

    @property
    def secure(self) -> bool:
        """Whether the connection is TLS."""
        return self.url.startswith("https://")

    def __repr__(self) -> str:
        return f"Endpoint({self.url!r}, {self.protocol!r})"


class Endpoints(msgspec.Struct, frozen=True):
    """The destinations of the three signals; often one server."""

    traces: Endpoint
    metrics: Endpoint
    logs: Endpoint
    tokens: Endpoint | None = None
    """Where token payloads go; None means with the other logs."""

    def of(self, signal: Signal) -> Endpoint:
        """Return the destination of `signal`."""
        return cast(Endpoint, getattr(self, signal))


def resolve_endpoints(env: Mapping[str, str], endpoint: str | None = None) -> Endpoints | None:
    """Return where to send, or None when nothing says so and the embedded bridge is to be used.

    `endpoint` goes before `ROLLSCOPE_ENDPOINT`, that before `OTEL_EXPORTER_OTLP_ENDPOINT`; a variable of one signal
    (`OTEL_EXPORTER_OTLP_TRACES_ENDPOINT`) counts only where neither of the first two is given. `grpc://` and `grpcs://` choose
    gRPC. Headers, compression, timeout and certificates come from the standard variables in every case.
    `ROLLSCOPE_ENDPOINT_TOKENS` sends token payloads elsewhere, with the options of logs.
    Source: https://opentelemetry.io/docs/specs/otel/protocol/exporter/. Raises `ConfigurationError`.
    """
    own = endpoint or env.get("ROLLSCOPE_ENDPOINT") or ""
    named = {signal: "" if own else env.get(f"{_PREFIX}{signal.upper()}_ENDPOINT", "") for signal in SIGNALS}
    base = own or env.get(f"{_PREFIX}ENDPOINT", "") or _base_of(named)
    payloads = env.get("ROLLSCOPE_ENDPOINT_TOKENS", "")
    if not base and not any(named.values()):
        if payloads:
            raise ConfigurationError("ROLLSCOPE_ENDPOINT_TOKENS stands alone", payloads, "set ROLLSCOPE_ENDPOINT as well")
        return None
    made = {signal: _endpoint(env, signal, base, named[signal]) for signal in SIGNALS}
    return Endpoints(made["traces"], made["metrics"], made["logs"], _endpoint(env, "logs", payloads, "") if payloads else None)


def _base_of(named: Mapping[Signal, str]) -> str:
    # One server takes all three signals unless told otherwise: spans without their run's log records would be worth little.
    for signal, url in named.items():
        if url:
            return url.rstrip("/").removesuffix(f"/v1/{signal}")
    return ""


def _endpoint(env: Mapping[str, str], signal: Signal, base: str, named: str) -> Endpoint:
    raw = named or base
    protocol = _protocol(env, signal, raw)
    return Endpoint(
        url=_url(raw, protocol, "" if named else f"/v1/{signal}", insecure=_option(env, signal, "INSECURE").lower() == "true"),
        protocol=protocol,
        headers=_headers(_option(env, signal, "HEADERS")),
        compression=_compression(_option(env, signal, "COMPRESSION")),
        timeout=_timeout(_option(env, signal, "TIMEOUT")),
        certificate=_option(env, signal, "CERTIFICATE") or None,
        client_key=_option(env, signal, "CLIENT_KEY") or None,
        client_certificate=_option(env, signal, "CLIENT_CERTIFICATE") or None,
    )


def _option(env: Mapping[str, str], signal: Signal, name: str) -> str:
    return (env.get(f"{_PREFIX}{signal.upper()}_{name}") or env.get(f"{_PREFIX}{name}") or "").strip()


def _protocol(env: Mapping[str, str], signal: Signal, url: str) -> Protocol:
    if url.startswith(("grpc://", "grpcs://")):
        return "grpc"
    word = _option(env, signal, "PROTOCOL") or "http/protobuf"
    if word not in ("http/protobuf", "grpc"):
        raise ConfigurationError("OTLP protocol is unknown", word, "set OTEL_EXPORTER_OTLP_PROTOCOL to `http/protobuf` or `grpc`")
    return cast(Protocol, word)


def _url(raw: str, protocol: Protocol, path: str, *, insecure: bool) -> str:
    text = raw.strip().replace("grpcs://", "https://", 1).replace("grpc://", "http://", 1)
    if "://" not in text and protocol == "grpc":
        text = f"{'http' if insecure else 'https'}://{text}"
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigurationError("endpoint is not a URL", raw, "write it as `http://host:4318` or `grpc://host:4317`")
    if protocol == "grpc":
        return f"{parts.scheme}://{parts.netloc}"
    return text.rstrip("/") + path


def _split(url: str) -> SplitResult | None:
    """Split a URL; None when it is none, its brackets or its port being wrong."""
    try:
        parts = urlsplit(url)
        return None if parts.port == 0 else parts
    except ValueError:
        return None


def _headers(text: str) -> dict[str, str]:
    headers: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError("OTLP headers cannot be read", name, "write OTEL_EXPORTER_OTLP_HEADERS as `name=value,name=value`")
        headers[unquote(name.strip()).lower()] = unquote(value.strip())
    return headers


def _compression(word: str) -> Compression:
    if word not in ("", "gzip", "zstd", "none"):
        raise ConfigurationError("OTLP compression is unknown", word, "set OTEL_EXPORTER_OTLP_COMPRESSION to gzip, zstd or none")
    return cast(Compression, word or "gzip")


def _timeout(text: str) -> float:
    """Read seconds, as Python's exporters do; from 1000 on it is milliseconds, as the specification has it."""
    try:
        value = float(text or 10)
    except ValueError:
        value = -1.0
    if not 0 < value < float("inf"):
        raise ConfigurationError("OTLP timeout is no positive number", text, "set OTEL_EXPORTER_OTLP_TIMEOUT to seconds")
    return value / 1000 if value >= _MILLISECONDS_FROM else value
