"""TLS and mTLS with certificates made on the spot."""

from __future__ import annotations

import ssl
from collections.abc import Callable

import grpc
import pytest
import urllib3

from rollscope_exporters.receiver import SIGNALS
from tests.fixtures.certificates import Certificates

from .served import Serve, Served


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made once."""
    return Certificates(tmp_path_factory.mktemp("certificates"))


def tls(certificates: Certificates, *, mutual: bool) -> dict[str, str]:
    """Return the settings."""
    files = {"CERT_FILE": certificates.path("server"), "KEY_FILE": certificates.key("server")}
    if mutual:
        files["CLIENT_CA_FILE"] = certificates.path("authority")
    return {f"LISTEN__TLS__{name}": str(path) for name, path in files.items()}


def post(served: Served, body: bytes, certificates: Certificates, *, client: bool) -> int:
    """Send over HTTPS, with a client certificate or without."""
    context = ssl.create_default_context(cafile=certificates.path("authority"))
    if client:
        context.load_cert_chain(certificates.path("client"), certificates.key("client"))
    with urllib3.PoolManager(ssl_context=context) as pool:
        answer = pool.request(
            "POST", f"{served.http}/v1/traces", body=body, headers={"content-type": "application/x-protobuf"}, retries=False
        )
        return answer.status


def call(served: Served, body: bytes, certificates: Certificates, *, client: bool) -> bytes:
    """Send over gRPC with TLS."""
    pair = (certificates.key("client").read_bytes(), certificates.path("client").read_bytes()) if client else (None, None)
    credentials = grpc.ssl_channel_credentials(certificates.path("authority").read_bytes(), *pair)
    with grpc.secure_channel(served.grpc, credentials) as channel:
        answer: bytes = channel.unary_unary(f"/{SIGNALS[0].service}/Export")(body, timeout=60)
        return answer


def test_tls(serve: Serve, certificates: Certificates, trace_request: Callable[..., bytes]) -> None:
    """Both transports serve TLS by one setting; plain text is not understood."""
    served = serve(scheme="https", **tls(certificates, mutual=False))
    assert post(served, trace_request(), certificates, client=False) == 200
    assert call(served, trace_request(), certificates, client=False) == b""
    with pytest.raises(grpc.RpcError), grpc.insecure_channel(served.grpc) as channel:
        channel.unary_unary(f"/{SIGNALS[0].service}/Export")(trace_request(), timeout=2)
    assert len(served.entries()) == 2


def test_mtls(serve: Serve, certificates: Certificates, trace_request: Callable[..., bytes]) -> None:
    """With a client authority only its clients are let in."""
    served = serve(scheme="https", **tls(certificates, mutual=True))
    assert post(served, trace_request(), certificates, client=True) == 200
    assert call(served, trace_request(), certificates, client=True) == b""
    with pytest.raises((urllib3.exceptions.HTTPError, ssl.SSLError)):
        post(served, trace_request(), certificates, client=False)
    with pytest.raises(grpc.RpcError):
        call(served, trace_request(), certificates, client=False)
    assert len(served.entries()) == 2
