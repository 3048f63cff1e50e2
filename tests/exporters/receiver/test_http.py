"""OTLP/HTTP, spoken to by real clients."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import zstandard
from google.rpc import status_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope_exporters.receiver._encoding import finish
from rollscope_exporters.receiver._otlp_json import to_protobuf

from .served import Serve, Served

JSON = "application/json"
SPAN = {"traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174", "name": "chat"}


def json_request(**fields: object) -> bytes:
    """Return an OTLP/JSON request of one span."""
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [{**SPAN, **fields}]}]}]}).encode()


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("identity", bytes), ("gzip", gzip.compress), ("deflate", zlib.compress), ("zstd", zstandard.compress)],
)
def test_every_encoding_is_kept_plain(
    served: Served, trace_request: Callable[..., bytes], encoding: str, pack: Callable[[bytes], bytes]
) -> None:
    """The answer is an empty message of the request's type, and says what a sender may pack with."""
    body = trace_request(20)
    answer = served.post(pack(body), content_encoding=encoding)
    assert (answer.status, answer.data, answer.headers["content-type"]) == (200, b"", "application/x-protobuf")
    assert "zstd" in answer.headers["accept-encoding"]
    assert [(signal, payload) for signal, _, payload in served.entries()] == [("traces", body)]


def test_json_is_kept_as_protobuf(served: Served) -> None:
    """And answered in JSON."""
    answer = served.post(gzip.compress(json_request()), media=f"{JSON}; charset=utf-8", content_encoding="gzip")
    assert (answer.status, answer.json()) == (200, {})
    ((signal, _, payload),) = served.entries()
    assert signal == "traces"
    assert ExportTraceServiceRequest.FromString(payload).resource_spans[0].scope_spans[0].spans[0].span_id.hex() == SPAN["spanId"]


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_each_signal_has_its_path(served: Served, signal: str) -> None:
    """Under its own name in the inbox."""
    assert served.post(b"\x0a\x00", signal).status == 200
    assert served.entries()[0][0] == signal


@pytest.mark.parametrize(
    ("media", "body", "headers", "status", "said"),
    [
        ("application/x-protobuf", b"\xff garbage", {}, 400, "are no ExportTraceServiceRequest"),
        (JSON, b"{", {}, 400, "no OTLP/JSON"),
        (JSON, json_request(traceId="12"), {}, 400, "traceId"),
        (JSON, b"{}", {"content_encoding": "gzip"}, 400, "cannot be unpacked"),
        (JSON, b"{}", {"content_encoding": "br"}, 415, "gzip, zstd, deflate"),
        ("text/plain", b"{}", {}, 415, "neither application/x-protobuf nor application/json"),
    ],
)
def test_errors_answer_in_the_encoding_of_the_request(
    served: Served, media: str, body: bytes, headers: dict[str, str], status: int, said: str
) -> None:
    """A google.rpc.Status that says what was wrong; nothing is kept."""
    answer = served.post(body, media=media, **headers)
    assert answer.status == status
    message = answer.json()["message"] if media == JSON else status_pb2.Status.FromString(answer.data).message
    assert said in message
    assert served.entries() == []


def test_a_bomb_is_too_large(serve: Serve) -> None:
    """Whether it says its size or not."""
    served = serve(LIMITS__REQUEST="1MiB")
    for pack, encoding in ((gzip.compress, "gzip"), (zstandard.compress, "zstd"), (zlib.compress, "deflate")):
        assert served.post(pack(bytes(200 << 20)), content_encoding=encoding).status == 413
    assert served.post(bytes(2 << 20)).status == 413
    assert served.receiver.intake.refused["http 413"] == 4


@pytest.fixture
def in_threads(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the application hands to a thread."""
    real, sent = asyncio.to_thread, []

    async def to_thread(work: Callable[..., object], *given: object) -> object:
        sent.append(work)
        return await real(work, *given)

    monkeypatch.setattr("rollscope_exporters.receiver._http_app.asyncio.to_thread", to_thread)
    return sent


@pytest.mark.parametrize(
    ("packed", "encoding", "threads"),
    [
        (gzip.compress(b"\x0a\x00" * 50), "gzip", 0),
        (gzip.compress(b"") * 3, "gzip", 0),
        (bytes(2 << 20), "", 0),
        (gzip.compress(bytes(8 << 20)), "gzip", 1),
        (zstandard.compress(bytes(8 << 20)), "zstd", 1),
        (zlib.compress(bytes(8 << 20)), "deflate", 1),
        (gzip.compress(b"") * 2000, "gzip", 1),
    ],
    ids=["small", "few members", "plain", "gzip bomb", "zstd bomb", "deflate bomb", "many members"],
)
def test_what_may_take_long_is_done_in_a_thread(
    served: Served, packed: bytes, encoding: str, threads: int, in_threads: list[object]
) -> None:
    """By what comes out and in how many members it is packed, not only by the size of the body."""
    served.post(packed, content_encoding=encoding)
    assert in_threads == [finish] * threads


def test_much_json_is_converted_in_a_thread(served: Served, in_threads: list[object]) -> None:
    """A byte of it takes longer than one of anything else."""
    assert served.post(json_request(), media=JSON).status == 200
    assert in_threads == []
    assert served.post(gzip.compress(json_request(name="x" * 50_000)), media=JSON, content_encoding="gzip").status == 200
    assert in_threads == [to_protobuf]


def test_a_body_without_a_length_is_bounded_too(serve: Serve) -> None:
    """Chunked bodies are cut off when they pass the limit."""
    served = serve(LIMITS__REQUEST="1MiB")
    port = served.receiver.http_port
    assert port
    with socket.create_connection(("127.0.0.1", port)) as client:
        client.sendall(b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ntransfer-encoding: chunked\r\n\r\n")
        chunk = b"10000\r\n" + bytes(1 << 16) + b"\r\n"
        for _ in range(17):
            client.sendall(chunk)
        assert client.recv(100).startswith(b"HTTP/1.1 413")


def test_a_full_inbox_asks_for_patience(serve: Serve, trace_request: Callable[..., bytes]) -> None:
    """503 with Retry-After; what was acknowledged stays."""
    served = serve(LIMITS__INBOX="1MiB")
    body = trace_request(1, "x" * 100_000)
    answers = [served.post(body) for _ in range(20)]
    full = [answer for answer in answers if answer.status != 200]
    assert full
    assert {answer.status for answer in full} == {503}
    assert int(full[0].headers["retry-after"]) > 0
    assert len(served.entries()) == 20 - len(full)


def test_too_much_at_once_asks_for_patience(served: Served, trace_request: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    """Memory is bounded over all clients; what is held is given back."""
    monkeypatch.setattr("rollscope_exporters.receiver._intake.IN_FLIGHT", 10_000)
    assert served.post(trace_request(1, "x" * 20_000)).status == 503
    assert served.post(trace_request(1, "x" * 5_000)).status == 200
    assert served.post(trace_request(1, "x" * 5_000)).status == 200
    assert served.receiver.intake.in_flight == 0


def test_a_token_is_asked_for(serve: Serve, trace_request: Callable[..., bytes]) -> None:
    """401 without it."""
    served = serve(token="s3cret")
    refused = served.post(trace_request())
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert served.post(trace_request(), authorization="Bearer s3cret").status == 200


def test_many_clients_at_once(served: Served, trace_request: Callable[..., bytes]) -> None:
    """Everything acknowledged to anyone is there once."""
    bodies = [trace_request(1, f"client {number}") for number in range(100)]
    with ThreadPoolExecutor(8) as pool:
        assert {answer.status for answer in pool.map(served.post, bodies)} == {200}
    assert sorted(payload for _, _, payload in served.entries()) == sorted(bodies)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(
    body=st.binary(max_size=200),
    media=st.sampled_from(["application/x-protobuf", JSON]),
    encoding=st.sampled_from(["", "gzip", "zstd", "deflate"]),
)
def test_a_flood_of_garbage_disturbs_nothing(served: Served, body: bytes, media: str, encoding: str) -> None:
    """Any bytes are taken or refused, and the next good request is taken."""
    assert served.post(body, media=media, content_encoding=encoding).status in (200, 400, 413)
    assert served.post(json_request(), media=JSON).status == 200


def test_a_client_that_hangs_up_disturbs_nothing(served: Served, trace_request: Callable[..., bytes]) -> None:
    """Half a request is dropped, the next one taken."""
    port = served.receiver.http_port
    assert port
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(
                b"POST /v1/traces HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-protobuf\r\ncontent-length: 1000\r\n\r\nhalf"
            )
    assert served.post(trace_request()).status == 200
    assert len(served.entries()) == 1


def test_a_taken_port_is_named(served: Served, serve: Serve) -> None:
    """The error says which address and what to do; on gRPC too, where a second server must not share the port."""
    from rollscope_exporters.receiver import ListenError

    with pytest.raises(ListenError, match=r"listen\.http 127\.0\.0\.1:\d+: .*free the port or choose another"):
        serve(LISTEN__HTTP=f"127.0.0.1:{served.receiver.http_port}")
    with pytest.raises(ListenError, match=r"listen\.grpc 127\.0\.0\.1:\d+"):
        serve(LISTEN__GRPC=served.grpc)
