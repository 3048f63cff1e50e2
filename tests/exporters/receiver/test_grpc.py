"""OTLP/gRPC, spoken to by real clients."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope_exporters.receiver import SIGNALS

from .served import Serve, Served

TRACES = SIGNALS[0]


def export(address: str, body: bytes, service: str = TRACES.service, **options: object) -> bytes:
    """Send one request."""
    with grpc.insecure_channel(address, options=[("grpc.max_send_message_length", -1)]) as channel:
        answer: bytes = channel.unary_unary(f"/{service}/Export")(body, timeout=60, **options)
        return answer


def outcome(address: str, body: bytes) -> grpc.StatusCode:
    """Send one request and return how it ended."""
    try:
        export(address, body)
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def refused(address: str, body: bytes, **options: object) -> tuple[grpc.RpcError, status_pb2.Status]:
    """Send a request that is refused; return the error and the status in its details."""
    with pytest.raises(grpc.RpcError) as caught:
        export(address, body, **options)
    trailing = dict(caught.value.trailing_metadata())
    return caught.value, status_pb2.Status.FromString(trailing.get("grpc-status-details-bin", b""))


def test_each_signal_is_kept_as_it_came(served: Served) -> None:
    """The bytes are in the inbox when the answer is there, and the answer is empty."""
    body = b"\x0a\x00"
    for signal in SIGNALS:
        assert export(served.grpc, body, signal.service) == b""
    assert [(signal, payload) for signal, _, payload in served.entries()] == [(signal.name, body) for signal in SIGNALS]


def test_packed_requests_are_kept_plain(served: Served, trace_request: Callable[..., bytes]) -> None:
    """gzip is undone before."""
    body = trace_request(50)
    export(served.grpc, body, compression=grpc.Compression.Gzip)
    assert served.entries()[0][2] == body


def test_an_empty_request_is_fine(served: Served) -> None:
    """Exporters send them to try a connection; nothing is kept."""
    assert export(served.grpc, b"") == b""
    assert served.entries() == []


def test_garbage_is_an_invalid_argument(served: Served) -> None:
    """The status says what was wrong; it has no RetryInfo, for trying again is of no use."""
    error, status = refused(served.grpc, b"\xff\xff garbage")
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "10 bytes are no ExportTraceServiceRequest" in error.details()
    assert (status.code, status.message, list(status.details)) == (3, error.details(), [])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(body=st.binary(min_size=1, max_size=200))
def test_a_flood_of_garbage_disturbs_nothing(served: Served, body: bytes) -> None:
    """Any bytes are taken or refused as an argument, never anything else."""
    assert outcome(served.grpc, body) in (grpc.StatusCode.OK, grpc.StatusCode.INVALID_ARGUMENT)


def test_a_large_request_is_taken_and_a_larger_one_is_not(serve: Serve, trace_request: Callable[..., bytes]) -> None:
    """The limit is the configured one, and holds for the unpacked size."""
    served = serve(LIMITS__REQUEST="8MiB")
    export(served.grpc, trace_request(1, "x" * (7 << 20)))
    error, _ = refused(served.grpc, trace_request(1, "x" * (9 << 20)))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    error, _ = refused(served.grpc, trace_request(1, "x" * (100 << 20)), compression=grpc.Compression.Gzip)
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert len(served.entries()) == 1


def test_a_full_inbox_is_unavailable_with_retry_info(serve: Serve, trace_request: Callable[..., bytes]) -> None:
    """Senders are told to keep their data and when to come again."""
    served = serve(LIMITS__INBOX="1MiB")
    body = trace_request(1, "x" * 100_000)
    outcomes = [outcome(served.grpc, body) for _ in range(20)]
    assert set(outcomes) == {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}
    assert len(served.entries()) == outcomes.count(grpc.StatusCode.OK)
    _, status = refused(served.grpc, body)
    info = error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert info.retry_delay.seconds > 0


def test_many_clients_at_once(served: Served, trace_request: Callable[..., bytes]) -> None:
    """Everything acknowledged to anyone is there once."""
    bodies = [trace_request(1, f"client {number}") for number in range(200)]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda body: export(served.grpc, body), bodies))
    assert sorted(payload for _, _, payload in served.entries()) == sorted(bodies)


def test_a_token_is_asked_for(serve: Serve, trace_request: Callable[..., bytes]) -> None:
    """Without it nothing is kept."""
    served = serve(token="s3cret")
    error, _ = refused(served.grpc, trace_request())
    assert error.code() is grpc.StatusCode.UNAUTHENTICATED
    export(served.grpc, trace_request(), metadata=(("authorization", "Bearer s3cret"),))
    assert len(served.entries()) == 1
    assert served.receiver.intake.refused["unauthenticated"] == 1


def test_an_unknown_method_is_unimplemented(served: Served) -> None:
    """As gRPC has it."""
    error, _ = refused(served.grpc, b"", service="opentelemetry.proto.collector.profiles.v1.ProfilesService")
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED


def test_a_body_packed_twice_is_garbage(served: Served, trace_request: Callable[..., bytes]) -> None:
    """What a client packed itself without saying so is not guessed at."""
    error, _ = refused(served.grpc, gzip.compress(trace_request()))
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
