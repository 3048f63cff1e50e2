"""OTLP over HTTP: every answer of a server, and of none, becomes one outcome."""

from __future__ import annotations

import contextlib
import email.utils
import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTracePartialSuccess, ExportTraceServiceResponse

from rollscope.settings import Endpoint
from rollscope.shipper.transport import TransportError, Verdict
from rollscope.shipper.transport.http import HttpTransport
from tests.fixtures.certificates import Certificates

from ..peers import Answer, Peer, http_peer


def transport(peer: Peer, **options: Any) -> HttpTransport:
    """A transport for traces to `peer`."""
    return HttpTransport(Endpoint(f"{peer.url}/v1/traces", **options))


def test_a_request_is_what_otlp_wants() -> None:
    """Path, content type, coding, user agent and the configured headers."""
    with http_peer() as peer:
        sender = transport(peer, headers={"authorization": "Bearer t0ken"})
        assert sender.send(b"").verdict is Verdict.ACCEPTED
        sender.close()
    (received,) = peer.taken
    assert received.signal == "traces"
    assert received.headers["content-type"] == "application/x-protobuf"
    assert received.headers["content-encoding"] == "gzip"
    assert received.headers["authorization"] == "Bearer t0ken"
    assert received.headers["user-agent"].startswith("OTel-OTLP-Exporter-")


@pytest.mark.parametrize(
    ("answer", "verdict", "retry_after"),
    [
        (Answer(429, {"retry-after": "7"}), Verdict.RETRY, 7.0),
        (Answer(503, {"retry-after": "nonsense"}), Verdict.RETRY, None),
        (Answer(503), Verdict.RETRY, None),
        (Answer(502), Verdict.RETRY, None),
        (Answer(504), Verdict.RETRY, None),
        (Answer(401), Verdict.RETRY, None),
        (Answer(403), Verdict.RETRY, None),
        (Answer(302, {"location": "/elsewhere"}), Verdict.RETRY, None),
        (Answer(500), Verdict.FAILED, None),
        (Answer(400), Verdict.REFUSED, None),
        (Answer(404), Verdict.UNSUPPORTED, None),
        (Answer(413), Verdict.TOO_LARGE, None),
    ],
)
def test_answers_become_outcomes(answer: Answer, verdict: Verdict, retry_after: float | None) -> None:
    """What is to be done follows from the status and Retry-After."""
    with http_peer(lambda received: answer) as peer:
        outcome = transport(peer).send(b"")
    assert (outcome.verdict, outcome.retry_after) == (verdict, retry_after)
    assert str(answer.status) in outcome.detail


def test_retry_after_may_be_a_date() -> None:
    """A date in the future is seconds from now, one in the past is none."""
    for offset, most in ((3600, 3600.0), (-3600, 0.0)):
        date = email.utils.formatdate(time.time() + offset, usegmt=True)
        with http_peer(lambda received, date=date: Answer(503, {"retry-after": date})) as peer:  # type: ignore[misc]
            outcome = transport(peer).send(b"")
        assert outcome.retry_after is not None
        assert max(0.0, most - 60) <= outcome.retry_after <= most


def test_partial_success_is_counted() -> None:
    """A success that left records out says how many and why."""
    response = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=3, error_message="no room"))
    with http_peer(lambda received: Answer(200, body=response.SerializeToString())) as peer:
        outcome = transport(peer).send(b"")
    assert (outcome.verdict, outcome.rejected, outcome.detail) == (Verdict.ACCEPTED, 3, "no room")


@pytest.mark.parametrize("body", [b"\xff" * 100, b"{}", b"<html>hello</html>", b"\n\x7f"])
def test_a_success_with_a_body_of_another_kind_is_a_success(body: bytes) -> None:
    """A server that answers 200 with something unreadable has taken the request."""
    with http_peer(lambda received: Answer(200, body=body)) as peer:
        assert transport(peer).send(b"").verdict is Verdict.ACCEPTED


def test_a_web_page_is_no_receiver() -> None:
    """Success from a login page or a web UI acknowledges nothing: the records wait until the address is right."""
    page = Answer(200, {"content-type": "text/html; charset=utf-8"}, b"<html>log in</html>")
    with http_peer(lambda received: page) as peer:
        outcome = transport(peer).send(b"")
    assert outcome.verdict is Verdict.RETRY
    assert "web page" in outcome.detail


def test_an_answer_that_never_ends_holds_nobody() -> None:
    """A peer that trickles its answer is left after the time of a request, and what it said until then counts."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def trickle() -> None:
            connection, _ = server.accept()
            with connection, contextlib.suppress(OSError):
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 503 Busy\r\n\r\n")
                while True:
                    connection.sendall(b"x")
                    time.sleep(0.02)

        thread = threading.Thread(target=trickle)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}"
        sender = HttpTransport(Endpoint(url, timeout=0.3))
        outcome = sender.send(b"")
        thread.join()
    assert outcome.verdict is Verdict.RETRY
    assert "503" in outcome.detail


def test_zstd_takes_over_when_the_peer_advertises_it() -> None:
    """`Accept-Encoding` in an answer switches from gzip to zstd, and 415 switches back for good."""
    pytest.importorskip("zstandard")
    advertise = Answer(200, {"accept-encoding": "gzip, zstd;q=0.9"})
    with http_peer(lambda received: advertise) as peer:
        sender = transport(peer)
        sender.send(b"")
        sender.send(b"")
        peer.script = lambda received: Answer(415) if received.headers.get("content-encoding") == "zstd" else advertise
        for _ in range(2):
            assert sender.send(b"").verdict is Verdict.ACCEPTED
    assert [received.headers["content-encoding"] for received in peer.taken] == ["gzip", "zstd", "gzip", "gzip"]


def test_compression_falls_back_to_none() -> None:
    """A peer that takes no coding at all gets plain bodies."""
    with http_peer(lambda received: Answer(415) if "content-encoding" in received.headers else None) as peer:
        assert transport(peer, compression="zstd").send(b"").verdict is Verdict.ACCEPTED
    assert "content-encoding" not in peer.taken[0].headers
    with http_peer(lambda received: Answer(415)) as peer:
        assert transport(peer).send(b"").verdict is Verdict.RETRY


def test_nobody_listening_is_worth_a_retry() -> None:
    """A refused connection and a silent server are outcomes, not exceptions."""
    with http_peer() as peer:
        pass
    assert transport(peer).send(b"").verdict is Verdict.RETRY
    with http_peer(lambda received: time.sleep(0.5)) as peer:  # type: ignore[func-returns-value]
        assert transport(peer, timeout=0.1).send(b"").verdict is Verdict.RETRY


def test_loopback_goes_past_the_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment's proxy is used for other hosts, not for this machine and not for what `no_proxy` names."""
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.setenv(name, "direct.example")
    with http_peer() as peer, http_peer(lambda received: Answer(503)) as proxy:
        monkeypatch.setenv("http_proxy", proxy.url)
        assert transport(peer).send(b"").verdict is Verdict.ACCEPTED
        far = HttpTransport(Endpoint("http://collector.example:4318/v1/traces"))
        assert far.send(b"").verdict is Verdict.RETRY
        assert len(proxy.refused) == 1
        direct = HttpTransport(Endpoint("http://direct.example:1/v1/traces", timeout=0.2))
        assert direct.send(b"").verdict is Verdict.RETRY
        assert len(proxy.refused) == 1


def test_mutual_tls(tmp_path: Path) -> None:
    """With authority and client certificate the request arrives; without, it does not, and nothing raises."""
    certificates = Certificates(tmp_path)
    authority = str(certificates.path("authority"))
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificates.path("server"), certificates.key("server"))
    server.load_verify_locations(authority)
    server.verify_mode = ssl.CERT_REQUIRED
    client = {"client_certificate": str(certificates.path("client")), "client_key": str(certificates.key("client"))}
    with http_peer(tls=server) as peer:
        known = transport(peer, certificate=authority, **client)
        assert known.send(b"").verdict is Verdict.ACCEPTED
        assert transport(peer).send(b"").verdict is Verdict.RETRY
        known.close()


def test_unreadable_certificates_are_told_at_start(tmp_path: Path) -> None:
    """A certificate that cannot be read raises when the transport is made, naming the file."""
    with pytest.raises(TransportError, match=r"missing\.pem"):
        HttpTransport(Endpoint("https://127.0.0.1:1/v1/traces", certificate=str(tmp_path / "missing.pem")))
