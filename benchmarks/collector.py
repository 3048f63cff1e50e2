"""What the Collector costs: agent and gateway, the official binary with our configuration files."""

from __future__ import annotations

import http.client
import http.server
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest, ExportTraceServiceResponse

from . import otlp
from .backends_cost import tree_cpu
from .harness import Outcome
from .recording import scratch
from .servers import answers, free_ports

NAME = "collector"
WORKLOAD = (
    "Requests of 2,500 spans with ten attributes, 1 MB or so, as the shipper sends them (OTLP/HTTP), through `agent.yaml` and "
    "`gateway.yaml` as they are: queues on disk with fsync, batching by bytes, zstd to the gateway, gzip to the bridge, a copy of every "
    "span to Jaeger, span metrics to Prometheus. Bridge, Jaeger and Prometheus are sinks that take everything and keep nothing. Processor "
    "time of each Collector process, user and system, from the first request until both copies of every span have left the gateway; "
    "scaled to a million spans."
)
BAR = "no bar"
_ROOT = Path(__file__).parents[1]
_TRAJECTORIES = 250
_SPANS = _TRAJECTORIES * otlp.SPANS
_PATIENCE = 300.0


def run(*, quick: bool) -> Outcome:
    """Measure."""
    requests = 8 if quick else 100
    built = subprocess.run([sys.executable, "-m", "tools.collector", "gateway"], capture_output=True, text=True, check=False, cwd=_ROOT)
    if built.returncode:
        return Outcome(notes=[f"the Collector cannot be built: {built.stderr.strip()[-300:]}"])
    binary = built.stdout.split()[-1]
    with scratch() as folder, ExitStack() as stack:
        names = ("bridge", "jaeger", "prometheus", *_VARIABLES)
        ports = dict(zip(names, free_ports(len(names)), strict=True))
        sinks = [stack.enter_context(_sink(ports[name])) for name in ("bridge", "jaeger")]
        stack.enter_context(_prometheus(ports["prometheus"]))
        gateway = stack.enter_context(_collector(binary, "gateway.yaml", folder, ports, "gateway_health"))
        agent = stack.enter_context(_collector(binary, "agent.yaml", folder, ports, "agent_health"))
        before = tree_cpu(agent), tree_cpu(gateway)
        begin = time.perf_counter()
        _send(ports["agent_http"], requests)
        _wait(lambda: min(sink() for sink in sinks) >= requests * _SPANS)
        took = time.perf_counter() - begin
        used = tree_cpu(agent) - before[0], tree_cpu(gateway) - before[1]
    spans = requests * _SPANS
    names = ("agent", "gateway, with the copy to Jaeger and span metrics")
    measured = {name: {"cpu_s_per_million_spans": cpu * 1e6 / spans} for name, cpu in zip(names, used, strict=True)}
    measured["both"] = {"cpu_s_per_million_spans": sum(used) * 1e6 / spans, "spans_per_s": spans / took}
    return Outcome(measured, notes=[f"scaled to 1,000,000 spans from {spans:,}; sender and sinks share the machine with both Collectors"])


_VARIABLES = {
    "agent_http": "ROLLSCOPE_AGENT_HTTP_PORT",
    "agent_grpc": "ROLLSCOPE_AGENT_GRPC_PORT",
    "agent_tokens_http": "ROLLSCOPE_AGENT_TOKENS_HTTP_PORT",
    "agent_tokens_grpc": "ROLLSCOPE_AGENT_TOKENS_GRPC_PORT",
    "agent_health": "ROLLSCOPE_AGENT_HEALTH_PORT",
    "agent_metrics": "ROLLSCOPE_AGENT_METRICS_PORT",
    "gateway_grpc": "ROLLSCOPE_GATEWAY_GRPC_PORT",
    "gateway_http": "ROLLSCOPE_GATEWAY_HTTP_PORT",
    "gateway_tokens_grpc": "ROLLSCOPE_GATEWAY_TOKENS_GRPC_PORT",
    "gateway_tokens_http": "ROLLSCOPE_GATEWAY_TOKENS_HTTP_PORT",
    "gateway_health": "ROLLSCOPE_GATEWAY_HEALTH_PORT",
    "gateway_metrics": "ROLLSCOPE_GATEWAY_METRICS_PORT",
    "gateway_prometheus": "ROLLSCOPE_GATEWAY_PROMETHEUS_PORT",
}
"""Port → the variable of the configuration files that sets it."""


@contextmanager
def _collector(binary: str, config: str, folder: Path, ports: dict[str, int], health: str) -> Iterator[int]:
    """Run a Collector; yields its pid once it is ready."""
    environment = {
        **os.environ,
        **{variable: str(ports[name]) for name, variable in _VARIABLES.items()},
        "ROLLSCOPE_AGENT_STORAGE": str(folder / "agent"),
        "ROLLSCOPE_GATEWAY_STORAGE": str(folder / "gateway"),
        "ROLLSCOPE_GATEWAY": f"127.0.0.1:{ports['gateway_grpc']}",
        "ROLLSCOPE_GATEWAY_TOKENS": f"127.0.0.1:{ports['gateway_tokens_grpc']}",
        "ROLLSCOPE_BRIDGE": f"127.0.0.1:{ports['bridge']}",
        "ROLLSCOPE_JAEGER": f"127.0.0.1:{ports['jaeger']}",
        "ROLLSCOPE_PROMETHEUS": f"http://127.0.0.1:{ports['prometheus']}/api/v1/write",
    }
    command = [binary, "--config", str(_ROOT / "collector-config" / config)]
    with (folder / f"{config}.log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait(lambda: answers(f"http://127.0.0.1:{ports[health]}") or process.poll() is not None)
        if process.returncode is not None:
            raise RuntimeError(f"{config} does not start: {(folder / f'{config}.log').read_text()[-500:]}")
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


@contextmanager
def _sink(port: int) -> Iterator[Callable[[], int]]:
    """Run an OTLP/gRPC server that keeps nothing; yields what tells how many spans have come."""
    import grpc

    count = 0

    def export(request: bytes, context: Any) -> bytes:
        nonlocal count
        message = ExportTraceServiceRequest.FromString(request)
        count += sum(len(scope.spans) for resource in message.resource_spans for scope in resource.scope_spans)
        return ExportTraceServiceResponse().SerializeToString()

    service = grpc.method_handlers_generic_handler(
        "opentelemetry.proto.collector.trace.v1.TraceService", {"Export": grpc.unary_unary_rpc_method_handler(export)}
    )
    taker = grpc.server(futures.ThreadPoolExecutor(1), options=[("grpc.max_receive_message_length", -1)])  # one at a time: they count
    taker.add_generic_rpc_handlers((service,))
    taker.add_insecure_port(f"127.0.0.1:{port}")
    taker.start()
    try:
        yield lambda: count
    finally:
        taker.stop(None).wait()


class _Taken(http.server.BaseHTTPRequestHandler):
    """Prometheus, as far as a writer sees it."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@contextmanager
def _prometheus(port: int) -> Iterator[None]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", port), _Taken) as taker:
        threading.Thread(target=taker.serve_forever, daemon=True).start()
        yield
        taker.shutdown()


def _send(port: int, requests: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_PATIENCE)
    for number in range(requests):
        body = otlp.request(number, _TRAJECTORIES)
        connection.request("POST", "/v1/traces", body, {"Content-Type": "application/x-protobuf"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"the agent says {answer.status}: {said[:200]!r}")
    connection.close()


def _wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not until():
        if time.monotonic() > deadline:
            raise RuntimeError("not everything arrived")
        time.sleep(0.1)
