"""OTLP over HTTP/protobuf."""

from __future__ import annotations

import email.utils
import ipaddress
import ssl
import time
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import urllib3

from ...settings.endpoint import Endpoint
from . import cures
from .compression import Compressor
from .outcome import Outcome, TransportError, Verdict
from .protobuf import partial_success, status_message

USER_AGENT = "OTel-OTLP-Exporter-rollscope"
_RESPONSE_LIMIT = 64 << 10
_RETRYABLE = frozenset({408, 429, 502, 503, 504})
_REFUSED = frozenset({400, 422})
_UNSUPPORTED = frozenset({404, 405, 501})


class HttpTransport:
    """Posts requests to one URL over kept connections."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._url = endpoint.url
        self._shown = cures.shown(endpoint.url)
        self._headers = {**endpoint.headers, "content-type": "application/x-protobuf", "user-agent": USER_AGENT}
        self._seconds = endpoint.timeout
        self._timeout = urllib3.Timeout(total=endpoint.timeout)
        self._compressor = Compressor(endpoint.compression)
        self._pool = _pool(endpoint)

    def send(self, body: bytes) -> Outcome:
        """See `Transport.send`."""
        outcome = self._post(body)
        while outcome is None:
            outcome = self._post(body)
        return outcome

    def close(self) -> None:
        """See `Transport.close`."""
        self._pool.clear()

    def _post(self, body: bytes) -> Outcome | None:
        """Return the outcome of one attempt, None when only the coding was wrong and another is left."""
        headers = dict(self._headers)
        if self._compressor.coding != "none":
            headers["content-encoding"] = self._compressor.coding
        try:
            response = self._pool.request(
                "POST",
                self._url,
                body=self._compressor.compress(body),
                headers=headers,
                timeout=self._timeout,
                retries=False,
                redirect=False,
                preload_content=False,
            )
            content = self._content(response)
        except (urllib3.exceptions.HTTPError, OSError) as error:
            said = f"{type(error).__name__}: {error}"
            return Outcome(Verdict.RETRY, f"{self._shown}: {said}: {cures.for_fault(said)}")
        if response.status == 415 and self._compressor.refused():
            return None
        if response.status < 300:
            if response.headers.get("content-type", "").startswith("text/html"):
                # A login page, a web UI on that port: it answers everything with success and keeps nothing.
                return Outcome(Verdict.RETRY, f"{self._shown}: HTTP {response.status} with a web page: {cures.for_status(404, None)}")
            self._compressor.advertised(response.headers.get("accept-encoding", ""))
            return _accepted(content)
        return _not_accepted(self._shown, response.status, response.headers.get("retry-after"), content)

    def _content(self, response: urllib3.BaseHTTPResponse) -> bytes:
        """Return the body of an answer as far as it matters; a connection on which more follows, or that never ends, is given up."""
        content = bytearray()
        deadline = time.monotonic() + self._seconds
        while len(content) < _RESPONSE_LIMIT and time.monotonic() < deadline:
            piece = response.read1(_RESPONSE_LIMIT)
            if not piece:
                response.release_conn()
                return bytes(content)
            content += piece
        response.close()
        return bytes(content)


def _accepted(content: bytes) -> Outcome:
    rejected, message = partial_success(content)
    return Outcome(Verdict.ACCEPTED, message, rejected=rejected)


def _not_accepted(url: str, status: int, retry_after: str | None, content: bytes) -> Outcome:
    said = (status_message(content) or content[:200].decode(errors="replace")).strip()
    detail = ": ".join(filter(None, (url, f"HTTP {status} {said}".strip(), cures.for_status(status, _seconds(retry_after)))))
    if status == 413:
        return Outcome(Verdict.TOO_LARGE, detail)
    if status in _REFUSED:
        return Outcome(Verdict.REFUSED, detail)
    if status in _UNSUPPORTED:
        return Outcome(Verdict.UNSUPPORTED, detail)
    if status in _RETRYABLE or retry_after:
        return Outcome(Verdict.RETRY, detail, _seconds(retry_after))
    # 401 and 403 are cured by whoever runs the peer, 3xx by whoever set the URL; the journal keeps everything until then.
    return Outcome(Verdict.FAILED if status >= 500 else Verdict.RETRY, detail)


def _seconds(retry_after: str | None) -> float | None:
    """Return the value of a Retry-After header: seconds or a date."""
    if not retry_after:
        return None
    try:
        return max(0.0, float(retry_after))
    except ValueError:
        pass
    try:
        return max(0.0, email.utils.parsedate_to_datetime(retry_after).timestamp() - time.time())
    except (ValueError, TypeError):
        return None


def _pool(endpoint: Endpoint) -> urllib3.PoolManager:
    options: dict[str, object] = {"num_pools": 2, "maxsize": 1}
    if endpoint.secure:
        options["ssl_context"] = _tls(endpoint)
    proxy = _proxy(endpoint.url)
    try:
        return urllib3.ProxyManager(proxy, **options) if proxy else urllib3.PoolManager(**options)  # type: ignore[arg-type]
    except (ValueError, urllib3.exceptions.HTTPError) as error:
        raise TransportError(f"proxy {proxy!r} from the environment cannot be used: {error}") from error


def _tls(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=endpoint.certificate)
        if endpoint.client_certificate:
            context.load_cert_chain(endpoint.client_certificate, endpoint.client_key)
    except (OSError, ssl.SSLError) as error:
        files = ", ".join(filter(None, (endpoint.certificate, endpoint.client_certificate, endpoint.client_key)))
        raise TransportError(f"certificate files for {endpoint.url} cannot be read ({files}): {error}") from error
    return context


def _proxy(url: str) -> str | None:
    """Return the proxy of the environment for `url`; None for loopback and what `no_proxy` names."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if is_loopback(host) or proxy_bypass(host):
        return None
    return getproxies().get(parts.scheme)


def is_loopback(host: str) -> bool:
    """Return whether `host` is this machine's loopback, by name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
