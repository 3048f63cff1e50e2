"""OTLP servers over real connections that keep what they took and answer what a test tells them to."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope.settings import resolve_endpoints
from rollscope.settings.endpoint import Endpoints

REQUESTS = {"traces": ExportTraceServiceRequest, "logs": ExportLogsServiceRequest, "metrics": ExportMetricsServiceRequest}


@dataclass
class Answer:
    """An HTTP answer, or a gRPC one by its code's name."""

    status: int | str = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass
class Received:
    """One request."""

    signal: str
    message: Any
    headers: dict[str, str]
    size: int
    """Bytes on the wire."""


Script = Callable[[Received], Answer | None]


class Peer:
    """What a server took; `script` may answer in its place and then the request counts as refused."""

    def __init__(self, script: Script | None = None) -> None:
        self.script = script
        self.taken: list[Received] = []
        self.refused: list[Received] = []
        self.url = ""
        self._lock = threading.Lock()

    @property
    def endpoints(self) -> Endpoints:
        """Endpoints that lead here."""
        endpoints = resolve_endpoints({}, self.url)
        assert endpoints is not None
        return endpoints

    def take(self, received: Received) -> Answer:
        """Answer one request."""
        answer = self.script(received) if self.script else None
        with self._lock:
            accepted = answer is None or answer.status in (200, "OK")
            (self.taken if accepted else self.refused).append(received)
            return answer or Answer()

    def spans(self) -> list[Any]:
        """All spans taken, in order."""
        return [span for r in self._of("traces") for group in r.resource_spans for scope in group.scope_spans for span in scope.spans]

    def logs(self, name: str | None = None) -> list[Any]:
        """All log records taken, or those of one event name."""
        records = [log for r in self._of("logs") for group in r.resource_logs for scope in group.scope_logs for log in scope.log_records]
        return [record for record in records if name is None or record.event_name == name]

    def metrics(self) -> list[Any]:
        """All metrics taken."""
        return [m for r in self._of("metrics") for group in r.resource_metrics for scope in group.scope_metrics for m in scope.metrics]

    def sequences(self, producer: str) -> list[int]:
        """Numbers of the producer's records taken, repetitions included."""
        return [n for who, n in self.numbered() if who == producer]

    def numbered(self) -> Iterator[tuple[str, int]]:
        """Producer and number of every numbered record taken."""
        for received in list(self.taken):
            for resource in (*getattr(received.message, "resource_spans", ()), *getattr(received.message, "resource_logs", ())):
                producer = values(resource.resource.attributes)["rl.producer.id"]
                for scope in (*getattr(resource, "scope_spans", ()), *getattr(resource, "scope_logs", ())):
                    for record in (*getattr(scope, "spans", ()), *getattr(scope, "log_records", ())):
                        if number := values(record.attributes).get("rl.producer.sequence"):
                            yield producer, number

    def _of(self, signal: str) -> list[Any]:
        return [received.message for received in list(self.taken) if received.signal == signal]


def value(any_value: Any) -> Any:
    """Plain value of an `AnyValue`."""
    kind = any_value.WhichOneof("value")
    if kind == "kvlist_value":
        return values(any_value.kvlist_value.values)
    if kind == "array_value":
        return [value(element) for element in any_value.array_value.values]
    return None if kind is None else getattr(any_value, kind)


def values(attributes: Any) -> dict[str, Any]:
    """Plain dict of repeated `KeyValue`."""
    return {attribute.key: value(attribute.value) for attribute in attributes}


def unpacked(body: bytes, coding: str) -> bytes:
    """Body without its content coding."""
    if coding == "gzip":
        return gzip.decompress(body)
    if coding == "zstd":
        return bytes(pytest.importorskip("zstandard").ZstdDecompressor().decompress(body, max_output_size=1 << 26))
    return body


@contextmanager
def http_peer(script: Script | None = None, port: int = 0, tls: Any = None) -> Iterator[Peer]:
    """An OTLP/HTTP server on loopback."""
    peer = Peer(script)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            signal = self.path.rpartition("/")[2]
            plain = unpacked(body, self.headers.get("content-encoding", ""))
            headers = {name.lower(): text for name, text in self.headers.items()}
            answer = peer.take(Received(signal, REQUESTS[signal].FromString(plain), headers, len(body)))
            self.send_response(int(answer.status))
            for name, text in {"content-length": str(len(answer.body)), **answer.headers}.items():
                self.send_header(name, text)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, *args: object) -> None:
            """Keep test output readable."""

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    peer.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield peer
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def grpc_peer(script: Script | None = None, port: int = 0) -> Iterator[Peer]:
    """An OTLP/gRPC server on loopback."""
    grpc = pytest.importorskip("grpc")
    peer = Peer(script)
    server = grpc.server(ThreadPoolExecutor(4))
    services = {"traces": "trace.v1.TraceService", "logs": "logs.v1.LogsService", "metrics": "metrics.v1.MetricsService"}

    def export(signal: str) -> Any:
        def handle(request: bytes, context: Any) -> bytes:
            headers = dict(context.invocation_metadata())
            answer = peer.take(Received(signal, REQUESTS[signal].FromString(request), headers, len(request)))
            if answer.status not in (200, "OK"):
                details = {"grpc-status-details-bin": answer.body} if answer.body else {}
                context.set_trailing_metadata(tuple({**answer.headers, **details}.items()))
                context.abort(getattr(grpc.StatusCode, str(answer.status)), "scripted")
            return answer.body

        return grpc.unary_unary_rpc_method_handler(handle)

    for signal, service in services.items():
        handler = grpc.method_handlers_generic_handler(f"opentelemetry.proto.collector.{service}", {"Export": export(signal)})
        server.add_generic_rpc_handlers((handler,))
    peer.url = f"grpc://127.0.0.1:{server.add_insecure_port(f'127.0.0.1:{port}')}"
    server.start()
    try:
        yield peer
    finally:
        server.stop(0).wait()
