"""Whatever a peer does, the outcome names who, what and what to do about it."""

from __future__ import annotations

import socket
import ssl
from pathlib import Path

import pytest

from rollscope.settings import Endpoint
from rollscope.shipper.transport import Verdict
from rollscope.shipper.transport.grpc import GrpcTransport
from rollscope.shipper.transport.http import HttpTransport
from tests.fixtures.certificates import Certificates

from ..peers import Answer, grpc_peer, http_peer


def said(endpoint: Endpoint) -> str:
    """What comes of a request to `endpoint`."""
    transport = GrpcTransport(endpoint, "traces") if endpoint.protocol == "grpc" else HttpTransport(endpoint)
    outcome = transport.send(b"")
    transport.close()
    assert outcome.verdict is not Verdict.ACCEPTED
    return outcome.detail


@pytest.mark.parametrize(
    ("answer", "cure"),
    [
        (Answer(401, body=b"who are you"), "HTTP 401 who are you: it wants credentials: set OTEL_EXPORTER_OTLP_HEADERS"),
        (Answer(403), "HTTP 403: these credentials may not write there"),
        (Answer(404), "HTTP 404: no OTLP receiver answers at this address: correct ROLLSCOPE_ENDPOINT"),
        (Answer(302, {"location": "/login"}), "HTTP 302: it sends elsewhere, which is not followed"),
        (Answer(413), "HTTP 413: it takes only smaller requests: raise its limit"),
        (
            Answer(429, {"retry-after": "30"}),
            "HTTP 429: it is busy; it is asked again, everything waits in the journal; in 30 s, as",
        ),
        (Answer(500), "HTTP 500: its own log says why"),
        (Answer(503), "HTTP 503: it is asked again"),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Answer) else "",
)
def test_an_http_answer(answer: Answer, cure: str) -> None:
    """The address, the status with what the peer said, the cure."""
    with http_peer(lambda received: answer) as peer:
        url = f"{peer.url}/v1/traces"
        assert said(Endpoint(url)).startswith(f"{url}: {cure}")


def test_nobody_listens() -> None:
    """The commonest of all; a password in the address is not repeated."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        found = said(Endpoint(f"http://mia:sesame@127.0.0.1:{port}/v1/traces"))
        assert found.startswith(f"http://127.0.0.1:{port}/v1/traces: ")
        assert "nothing listens there: start it, or correct ROLLSCOPE_ENDPOINT" in found
        assert "sesame" not in found
        assert "nothing listens there" in said(Endpoint(f"http://127.0.0.1:{port}", protocol="grpc"))


def test_a_name_that_nobody_knows() -> None:
    """Of the reserved domain that no resolver has."""
    assert "nobody here knows this name" in said(Endpoint("http://collector.invalid:4318/v1/traces"))


def test_tls_that_does_not_fit(tmp_path: Path) -> None:
    """An authority nobody knows, a name that is not the certificate's, TLS where there is none and none where there is TLS."""
    certificates = Certificates(tmp_path)
    authority = str(certificates.path("authority"))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificates.path("server"), certificates.key("server"))
    with http_peer(tls=context) as secure, http_peer() as plain:
        assert "set OTEL_EXPORTER_OTLP_CERTIFICATE to the authority's PEM file" in said(Endpoint(f"{secure.url}/v1/traces"))
        assert "write https://" in said(Endpoint(f"{secure.url.replace('https', 'http')}/v1/traces"))
        assert "it speaks no TLS on this port" in said(Endpoint(f"{plain.url.replace('http', 'https')}/v1/traces"))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_verify_locations(authority)
    with http_peer(tls=context) as mutual:
        assert "set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE" in said(Endpoint(f"{mutual.url}/v1/traces", certificate=authority))


def test_no_answer_in_time() -> None:
    """Somebody listens and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        assert "it did not answer in time (OTEL_EXPORTER_OTLP_TIMEOUT)" in said(Endpoint(url, timeout=0.3))


@pytest.mark.parametrize(
    ("code", "cure"),
    [
        ("UNAUTHENTICATED", "UNAUTHENTICATED scripted: it wants credentials"),
        ("PERMISSION_DENIED", "PERMISSION_DENIED scripted: these credentials"),
        ("UNIMPLEMENTED", "UNIMPLEMENTED scripted: it does not take this signal"),
        ("RESOURCE_EXHAUSTED", "RESOURCE_EXHAUSTED scripted: it takes only smaller requests"),
    ],
)
def test_a_grpc_code(code: str, cure: str) -> None:
    """The same words as over HTTP."""
    with grpc_peer(lambda received: Answer(code)) as peer:
        url = peer.url.replace("grpc", "http")
        assert said(Endpoint(url, protocol="grpc")).startswith(f"{url}: {cure}")
