"""What to do about a peer that does not take a request: the sentence that follows cause and value in status, log and ledger."""

from __future__ import annotations

from urllib.parse import urlsplit, urlunsplit

__all__ = ["for_fault", "for_grpc", "for_status", "shown"]

_WAITS = "everything waits in the journal"
_ENDPOINT = "correct ROLLSCOPE_ENDPOINT (init's endpoint, OTEL_EXPORTER_OTLP_ENDPOINT)"
_HEADERS = "OTEL_EXPORTER_OTLP_HEADERS, as in authorization=Bearer%20TOKEN"
_TOO_LARGE = "it takes only smaller requests: raise its limit (bridge: limits.request; Collector: max_request_body_size)"
_CLIENT_CERTIFICATE = "set OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE and …_CLIENT_KEY"
_HUNG_UP = (
    "it hung up without a word of HTTP: where it speaks TLS write https://, where gRPC grpc://; where it wants a client certificate "
    + _CLIENT_CERTIFICATE
)
_AGAIN = f"it is asked again, {_WAITS}"

_STATUS = {
    401: f"it wants credentials: set {_HEADERS}; {_WAITS}",
    403: f"these credentials may not write there: correct {_HEADERS}; {_WAITS}",
    404: f"no OTLP receiver answers at this address: {_ENDPOINT}, without the path /v1/…; {_WAITS}",
    405: f"no OTLP receiver answers at this address: {_ENDPOINT}, without the path /v1/…; {_WAITS}",
    407: "the proxy wants credentials: put them into HTTP(S)_PROXY, or name the host in NO_PROXY",
    413: _TOO_LARGE,
    429: f"it is busy; {_AGAIN}",
    503: _AGAIN,
    501: f"it does not take this signal: {_ENDPOINT}",
}
_FAULTS = (
    ("CERTIFICATE_VERIFY_FAILED] certificate verify failed: Hostname mismatch", f"its certificate is for another name: {_ENDPOINT}"),
    ("CERTIFICATE_VERIFY_FAILED] certificate verify failed: IP address mismatch", f"its certificate is for another name: {_ENDPOINT}"),
    ("certificate has expired", "its certificate has expired: renew it there"),
    (
        "CERTIFICATE_VERIFY_FAILED",
        "nobody this node trusts has signed its certificate: set OTEL_EXPORTER_OTLP_CERTIFICATE to the authority's PEM file",
    ),
    ("CERTIFICATE_REQUIRED", f"it wants a client certificate: {_CLIENT_CERTIFICATE}"),
    ("HANDSHAKE_FAILURE", f"it wants a client certificate: {_CLIENT_CERTIFICATE}"),
    ("WRONG_VERSION_NUMBER", "it speaks no TLS on this port: write http:// or grpc://, or correct the port in ROLLSCOPE_ENDPOINT"),
    ("ALPN", "it speaks no gRPC over TLS on this port: correct ROLLSCOPE_ENDPOINT"),
    ("Connection refused", f"nothing listens there: start it, or {_ENDPOINT}"),
    ("Name or service not known", f"nobody here knows this name: {_ENDPOINT}"),
    ("name resolution", f"nobody here knows this name: {_ENDPOINT}"),
    ("DNS resolution", f"nobody here knows this name: {_ENDPOINT}"),
    ("No route to host", f"no way leads there: look at the network, or {_ENDPOINT}"),
    ("unreachable", f"no way leads there: look at the network, or {_ENDPOINT}"),
    ("Unable to connect to proxy", "the proxy of the environment does not answer: correct HTTP(S)_PROXY, or name the host in NO_PROXY"),
    ("imed out", "it did not answer in time (OTEL_EXPORTER_OTLP_TIMEOUT)"),
    ("Deadline Exceeded", "it did not answer in time (OTEL_EXPORTER_OTLP_TIMEOUT)"),
    # One and the same peer ends in either of them, by what of ours was still on its way when it closed.
    ("without response", _HUNG_UP),
    ("Connection reset by peer", _HUNG_UP),
    ("EOF occurred in violation of protocol", _HUNG_UP),
    ("BadStatusLine", "it answers no HTTP: where it speaks TLS write https://, where gRPC grpc://"),
)
_GRPC = {
    "UNAUTHENTICATED": _STATUS[401],
    "PERMISSION_DENIED": _STATUS[403],
    "UNIMPLEMENTED": f"it does not take this signal: {_ENDPOINT}",
    "RESOURCE_EXHAUSTED": _TOO_LARGE,
}


def for_status(status: int, retry_after: float | None) -> str:
    """Return what to do about an HTTP status; empty where there is nothing to be said but to wait or to look there."""
    if 300 <= status < 400:
        return f"it sends elsewhere, which is not followed: {_ENDPOINT}"
    if status >= 500 and status not in _STATUS:
        return "its own log says why"
    cure = _STATUS.get(status, "")
    return cure if retry_after is None or not cure else f"{cure}; in {retry_after:g} s, as it asks"


def for_fault(said: str) -> str:
    """Return what to do about a connection that failed, by what the library said."""
    return next((f"{cure}; {_WAITS}" for part, cure in _FAULTS if part in said), _WAITS)


def for_grpc(code: str, said: str, delay: float | None) -> str:
    """Return what to do about a gRPC code."""
    if delay is not None:
        return f"{_AGAIN}; in {delay:g} s, as it asks"
    return _GRPC.get(code) or for_fault(said)


def shown(url: str) -> str:
    """Return an address without the credentials in it."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
