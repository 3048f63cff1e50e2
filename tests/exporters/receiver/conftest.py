"""A running receiver, and requests to send to it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from rollscope_exporters.receiver import Gate, ListenError, Receiver
from rollscope_exporters.settings import load

from .served import Serve, Served

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """Run a coroutine in one event loop that lives in a thread, so that tests can be blocking clients."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield lambda coroutine: asyncio.run_coroutine_threadsafe(coroutine, loop).result(60)
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


@pytest.fixture
def serve(run: Run, tmp_path: Path) -> Iterator[Serve]:
    """Start receivers with environment-style settings; all are stopped at the end."""
    started: list[Receiver] = []

    def start(token: str | None = None, scheme: str = "http", **env: str) -> Served:
        listen = {"ROLLSCOPE__LISTEN__GRPC": "127.0.0.1:0", "ROLLSCOPE__LISTEN__HTTP": "127.0.0.1:0"}
        settings = load(None, {**listen, **{f"ROLLSCOPE__{key}": value for key, value in env.items()}})
        inbox = tmp_path / f"inbox{len(started)}"

        async def begin() -> Receiver:
            receiver = Receiver(settings, inbox, Gate(token))
            try:
                await receiver.start()
            except ListenError:
                await receiver.stop()
                raise
            return receiver

        receiver = run(begin())
        started.append(receiver)
        return Served(receiver, inbox, scheme)

    yield start
    for receiver in started:
        run(receiver.stop())


@pytest.fixture
def served(serve: Serve) -> Served:
    """A receiver with nothing but free ports."""
    return serve()


@pytest.fixture
def trace_request() -> Callable[..., bytes]:
    """Encode a trace request of `count` spans."""

    def make(count: int = 1, name: str = "chat") -> bytes:
        request = ExportTraceServiceRequest()
        scope = request.resource_spans.add().scope_spans.add()
        for index in range(count):
            scope.spans.add(trace_id=bytes([1] * 16), span_id=(index + 1).to_bytes(8, "big"), name=name)
        return request.SerializeToString()

    return make
