"""The error body is a google.rpc.Status."""

from __future__ import annotations

from google.rpc import error_details_pb2, status_pb2
from hypothesis import given
from hypothesis import strategies as st

from rollscope_exporters.receiver._status import status_json, status_protobuf


@given(code=st.integers(0, 16), message=st.text(max_size=300), retry=st.none() | st.integers(1, 10_000))
def test_the_protobuf_form_is_what_google_reads(code: int, message: str, retry: int | None) -> None:
    """Code, message and RetryInfo come out of the official classes."""
    try:
        message.encode()
    except UnicodeEncodeError:
        message = "?"
    status = status_pb2.Status.FromString(status_protobuf(code, message, retry))
    assert (status.code, status.message) == (code, message)
    if retry is None:
        assert not status.details
        return
    info = error_details_pb2.RetryInfo()
    assert status.details[0].Unpack(info)
    assert info.retry_delay.seconds == retry


def test_the_json_form_says_the_same() -> None:
    """With the duration as text."""
    assert status_json(3, "bad") == {"code": 3, "message": "bad"}
    assert status_json(14, "full", 2)["details"][0]["retryDelay"] == "2s"
