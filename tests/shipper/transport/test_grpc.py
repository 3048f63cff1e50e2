"""OTLP over gRPC: status codes, RetryInfo and partial success become the same outcomes as over HTTP."""

from __future__ import annotations

import sys
import time
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsPartialSuccess, ExportLogsServiceResponse

from rollscope.settings import Endpoint
from rollscope.shipper.otlp import framed
from rollscope.shipper.transport import TransportError, Verdict
from rollscope.shipper.transport.grpc import GrpcTransport
from rollscope.shipper.transport.protobuf import fields, retry_delay

from ..peers import Answer, Peer, grpc_peer

pytest.importorskip("grpc")


def transport(peer: Peer, **options: Any) -> GrpcTransport:
    """A transport for logs to `peer`."""
    return GrpcTransport(Endpoint(peer.url.replace("grpc://", "http://"), "grpc", **options), "logs")


def retry_info(seconds: int, nanos: int) -> bytes:
    """An encoded `google.rpc.Status` with a `RetryInfo`."""
    duration = bytes([8, seconds, 16]) + bytes([nanos & 0x7F | 0x80, nanos >> 7])
    detail = framed(1, b"type.googleapis.com/google.rpc.RetryInfo") + framed(2, framed(1, duration))
    return bytes([8, 14]) + framed(2, b"busy") + framed(3, detail)


def test_a_request_carries_headers_as_metadata() -> None:
    """The configured headers arrive, and the request is gzip-compressed on the wire."""
    with grpc_peer() as peer:
        sender = transport(peer, headers={"Authorization": "Bearer t0ken"})
        assert sender.send(b"").verdict is Verdict.ACCEPTED
        sender.close()
    assert peer.taken[0].headers["authorization"] == "Bearer t0ken"


@pytest.mark.parametrize(
    ("answer", "verdict", "retry_after"),
    [
        (Answer("UNAVAILABLE"), Verdict.RETRY, None),
        (Answer("UNAVAILABLE", body=retry_info(3, 500)), Verdict.RETRY, 3.0000005),
        (Answer("RESOURCE_EXHAUSTED"), Verdict.TOO_LARGE, None),
        (Answer("RESOURCE_EXHAUSTED", body=retry_info(2, 0)), Verdict.RETRY, 2.0),
        (Answer("INVALID_ARGUMENT"), Verdict.REFUSED, None),
        (Answer("UNIMPLEMENTED"), Verdict.UNSUPPORTED, None),
        (Answer("UNAUTHENTICATED"), Verdict.RETRY, None),
        (Answer("PERMISSION_DENIED"), Verdict.RETRY, None),
        (Answer("INTERNAL"), Verdict.FAILED, None),
        (Answer("UNKNOWN"), Verdict.FAILED, None),
    ],
)
def test_status_codes_become_outcomes(answer: Answer, verdict: Verdict, retry_after: float | None) -> None:
    """What is to be done follows from the code and RetryInfo."""
    with grpc_peer(lambda received: answer) as peer:
        sender = transport(peer)
        outcome = sender.send(b"")
        sender.close()
    assert outcome.verdict is verdict
    assert outcome.retry_after == (None if retry_after is None else pytest.approx(retry_after))
    assert str(answer.status) in outcome.detail


def test_partial_success_is_counted() -> None:
    """A success that left records out says how many and why."""
    response = ExportLogsServiceResponse(partial_success=ExportLogsPartialSuccess(rejected_log_records=2, error_message="late"))
    with grpc_peer(lambda received: Answer("OK", body=response.SerializeToString())) as peer:
        sender = transport(peer)
        outcome = sender.send(b"")
        sender.close()
    assert (outcome.verdict, outcome.rejected, outcome.detail) == (Verdict.ACCEPTED, 2, "late")


def test_a_peer_that_comes_back_is_used_again() -> None:
    """After a failed connection the next request finds the restarted server."""
    with grpc_peer() as peer:
        sender = transport(peer)
        assert sender.send(b"").verdict is Verdict.ACCEPTED
        port = int(peer.url.rpartition(":")[2])
    assert sender.send(b"").verdict is Verdict.RETRY
    with grpc_peer(port=port):
        assert sender.send(b"").verdict is Verdict.ACCEPTED
    sender.close()


def test_a_silent_peer_is_left_after_the_deadline() -> None:
    """The time limit of the endpoint holds."""
    with grpc_peer(lambda received: time.sleep(0.5)) as peer:  # type: ignore[func-returns-value]
        sender = transport(peer, timeout=0.1)
        assert sender.send(b"").verdict is Verdict.RETRY
        sender.close()


def test_a_missing_grpcio_is_told_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra the transport cannot be made, and the error has the install line."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(TransportError, match=r"pip install 'rollscope\[grpc\]'"):
        GrpcTransport(Endpoint("http://127.0.0.1:1", "grpc"), "traces")


@pytest.mark.parametrize("data", [b"", b"\xff", b"\x1a\xff\xff", b"\x0b\x0c", b"\x1a\x02\x0a\x7f", b"\xff" * 30])
def test_damaged_details_are_no_details(data: bytes) -> None:
    """Bytes that are no status give no delay and do not raise."""
    assert retry_delay(data) is None
    list(fields(data))
