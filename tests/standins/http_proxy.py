"""A stand-in for a company's HTTP proxy: forwards requests for names it knows to a port of this machine, and writes them down."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import urlsplit


class HttpProxy:
    """Listens on a free loopback port while it is entered."""

    def __init__(self, ports: Mapping[str, int]) -> None:
        self.ports = dict(ports)
        self.requests: list[str] = []
        """Addresses that were asked for."""
        self._server = _Server(self)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def __enter__(self) -> HttpProxy:
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, owner: HttpProxy) -> None:
        self.owner = owner
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self._forward()

    def do_PUT(self) -> None:
        self._forward()

    def do_GET(self) -> None:
        self._forward()

    def _forward(self) -> None:
        address = urlsplit(self.path)
        self.server.owner.requests.append(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        port = self.server.owner.ports.get(address.hostname or "", 0)
        there = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        headers = {key: value for key, value in self.headers.items() if key.lower() not in {"host", "proxy-connection", "content-length"}}
        there.request(self.command, address.path, body, headers)
        answer = there.getresponse()
        data = answer.read()
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.headers.get("Content-Type", "application/json"))
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
        there.close()
