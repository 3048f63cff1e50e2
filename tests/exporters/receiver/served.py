"""A receiver under test."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec
import urllib3

from rollscope.journal import LogReader
from rollscope_exporters.receiver import INBOX_LANE, Receiver


@dataclass
class Served:
    """A receiver under test."""

    receiver: Receiver
    inbox: Path
    scheme: str = "http"

    @property
    def grpc(self) -> str:
        """Address of gRPC."""
        return f"127.0.0.1:{self.receiver.grpc_port}"

    @property
    def http(self) -> str:
        """Base URL of HTTP."""
        return f"{self.scheme}://127.0.0.1:{self.receiver.http_port}"

    def entries(self) -> list[tuple[str, int, bytes]]:
        """Return what the inbox holds: signal, time, protobuf bytes."""
        reader = LogReader(self.inbox, {})
        found = []
        while batch := reader.read(INBOX_LANE, 1 << 20):
            found += [tuple(msgspec.msgpack.decode(entry.payload)) for entry in batch]
        reader.close()
        return found

    def post(self, body: bytes, signal: str = "traces", media: str = "application/x-protobuf", **headers: str) -> urllib3.BaseHTTPResponse:
        """Send one HTTP request."""
        extra = {name.replace("_", "-"): value for name, value in headers.items()}
        with urllib3.PoolManager() as pool:
            return pool.request("POST", f"{self.http}/v1/{signal}", body=body, headers={"content-type": media, **extra}, retries=False)


Serve = Callable[..., Served]
