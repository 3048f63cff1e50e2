"""Tests of where records are sent to."""

from __future__ import annotations

import pytest

from rollscope.errors import ConfigurationError
from rollscope.settings import SIGNALS, resolve_endpoints


def test_nothing_said_means_the_embedded_bridge() -> None:
    """Without argument and variables there is no endpoint."""
    assert resolve_endpoints({}) is None


def test_http_gets_a_path_per_signal() -> None:
    """A base URL is completed as the specification says."""
    endpoints = resolve_endpoints({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318/"})
    assert endpoints is not None
    assert [endpoints.of(signal).url for signal in SIGNALS] == [f"http://collector:4318/v1/{signal}" for signal in SIGNALS]
    assert endpoints.traces.protocol == "http/protobuf"
    assert not endpoints.traces.secure


def test_the_argument_goes_before_rollscope_and_that_before_otel() -> None:
    """Of three endpoints the nearest counts."""
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "http://third:1",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://fourth:1/v1/traces",
        "ROLLSCOPE_ENDPOINT": "http://second:1",
    }
    assert resolve_endpoints(env, "http://first:1").traces.url == "http://first:1/v1/traces"  # type: ignore[union-attr]
    assert resolve_endpoints(env).traces.url == "http://second:1/v1/traces"  # type: ignore[union-attr]


def test_an_endpoint_of_one_signal_is_taken_as_it_is() -> None:
    """A signal's own URL gets no path, the others go to the base."""
    endpoints = resolve_endpoints({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://a:1", "OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://b:2/in"})
    assert endpoints is not None
    assert endpoints.logs.url == "http://b:2/in"
    assert endpoints.traces.url == "http://a:1/v1/traces"


def test_the_only_endpoint_of_a_signal_serves_all() -> None:
    """With nothing but a traces endpoint, logs and metrics go to the same server."""
    endpoints = resolve_endpoints({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "https://a:1/v1/traces"})
    assert endpoints is not None
    assert endpoints.logs.url == "https://a:1/v1/logs"
    assert endpoints.logs.secure


def test_token_payloads_go_with_the_logs_unless_told_otherwise() -> None:
    """`ROLLSCOPE_ENDPOINT_TOKENS` moves the payloads alone, with the options of logs; its protocol may differ."""
    env = {"ROLLSCOPE_ENDPOINT": "http://a:4318", "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "x-team=rl"}
    assert resolve_endpoints(env).tokens is None  # type: ignore[union-attr]
    moved = resolve_endpoints({**env, "ROLLSCOPE_ENDPOINT_TOKENS": "grpc://a:4327"})
    assert moved is not None
    assert moved.tokens is not None
    assert (moved.tokens.url, moved.tokens.protocol, moved.tokens.headers) == ("http://a:4327", "grpc", {"x-team": "rl"})
    assert moved.logs.url == "http://a:4318/v1/logs"


def test_token_payloads_alone_have_nowhere_to_belong() -> None:
    """An endpoint for tokens without one for everything else is an error that names the cure."""
    with pytest.raises(ConfigurationError, match="ROLLSCOPE_ENDPOINT as well"):
        resolve_endpoints({"ROLLSCOPE_ENDPOINT_TOKENS": "http://a:4328"})


@pytest.mark.parametrize(
    ("text", "url"),
    [("grpc://c:4317", "http://c:4317"), ("grpcs://c:4317", "https://c:4317")],
)
def test_grpc_may_be_chosen_by_the_scheme(text: str, url: str) -> None:
    """`grpc://` and `grpcs://` are gRPC without and with TLS."""
    endpoints = resolve_endpoints({}, text)
    assert endpoints is not None
    assert (endpoints.traces.url, endpoints.traces.protocol) == (url, "grpc")


@pytest.mark.parametrize(("insecure", "url"), [("true", "http://c:4317"), ("", "https://c:4317")])
def test_grpc_without_scheme_is_tls_unless_insecure(insecure: str, url: str) -> None:
    """A bare host and port follow `OTEL_EXPORTER_OTLP_INSECURE`."""
    env = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": "c:4317",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_EXPORTER_OTLP_INSECURE": insecure,
    }
    assert resolve_endpoints(env).logs.url == url  # type: ignore[union-attr]


def test_options_are_read_for_all_signals_and_for_one() -> None:
    """Headers, compression, timeout and certificates follow the standard variables, the signal's own first."""
    endpoints = resolve_endpoints(
        {
            "OTEL_EXPORTER_OTLP_ENDPOINT": "https://c:1",
            "OTEL_EXPORTER_OTLP_HEADERS": "Authorization=Bearer%20abc,x-team=rl",
            "OTEL_EXPORTER_OTLP_LOGS_HEADERS": "x-team=logs",
            "OTEL_EXPORTER_OTLP_COMPRESSION": "zstd",
            "OTEL_EXPORTER_OTLP_METRICS_COMPRESSION": "none",
            "OTEL_EXPORTER_OTLP_TIMEOUT": "5",
            "OTEL_EXPORTER_OTLP_TRACES_TIMEOUT": "2500",
            "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem",
            "OTEL_EXPORTER_OTLP_CLIENT_KEY": "/key.pem",
            "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "/cert.pem",
        }
    )
    assert endpoints is not None
    assert endpoints.traces.headers == {"authorization": "Bearer abc", "x-team": "rl"}
    assert endpoints.logs.headers == {"x-team": "logs"}
    assert (endpoints.traces.compression, endpoints.metrics.compression) == ("zstd", "none")
    assert (endpoints.logs.timeout, endpoints.traces.timeout) == (5.0, 2.5)
    assert (endpoints.logs.certificate, endpoints.logs.client_key, endpoints.logs.client_certificate) == (
        "/ca.pem",
        "/key.pem",
        "/cert.pem",
    )


def test_headers_are_not_printed() -> None:
    """Secrets in headers stay out of a representation."""
    endpoints = resolve_endpoints({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", "OTEL_EXPORTER_OTLP_HEADERS": "authorization=sesame"})
    assert "sesame" not in repr(endpoints)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PROTOCOL", "http/json"),
        ("COMPRESSION", "brotli"),
        ("TIMEOUT", "soon"),
        ("TIMEOUT", "-1"),
        ("TIMEOUT", "inf"),
        ("HEADERS", "no-equals-sign"),
        ("ENDPOINT", "not a url"),
        ("ENDPOINT", "ftp://c:1"),
        ("ENDPOINT", "http://c:99999"),
        ("ENDPOINT", "http://[::1"),
    ],
)
def test_a_value_that_cannot_work_is_refused_with_a_cure(name: str, value: str) -> None:
    """A wrong variable raises with cause, value and cure."""
    env = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:1", f"OTEL_EXPORTER_OTLP_{name}": value}
    with pytest.raises(ConfigurationError) as caught:
        resolve_endpoints(env)
    assert caught.value.cause
    assert caught.value.cure
