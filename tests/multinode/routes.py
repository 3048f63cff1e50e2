"""The stack with other hops between agent and bridge: Kafka with its relay, or several gateways behind a balancer."""

from __future__ import annotations

import os
import signal
import subprocess
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from rollscope_exporters.ledger import RunLedger
from tests import components
from tests.collector.configurations import arguments
from tests.collector.stack import Program, Stack
from tests.multinode.kafka import listens, prepare
from tests.multinode.launch import end_everything_of, ledger, recording, start_rank, variables

OF_GATEWAY = ("grpc", "http", "tokens_grpc", "tokens_http", "health", "metrics", "prometheus")
"""What a gateway listens on."""


class Route(Stack):
    """A stack of which not all services run, and with some of its own."""

    order: tuple[str, ...] = ()
    """What runs, in the order in which it starts."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ranks: list[subprocess.Popen[bytes]] = []

    def end(self) -> None:
        """Kill ranks too, and whatever they started."""
        for rank in self.ranks:
            rank.kill()
            rank.wait()
        super().end()
        end_everything_of(self.folder)

    def train(self, experiment: str, size: int, steps: int, seconds: float, tokens: int = 40) -> None:
        """Start all ranks of a job, on one node."""
        environment = recording(self.folder / experiment, self.url("agent"), self.url("agent_tokens"))
        for rank in range(size):
            own = {**environment, **variables(experiment, rank, size, size)}
            log = self.folder / f"{experiment}-{rank}.log"
            self.ranks.append(start_rank(experiment, rank, steps, seconds, own, log, tokens=tokens))

    def received(self, experiment: str) -> int:
        """Records that the bridge has of a run."""
        found = ledger(self.storage, experiment)
        return found.received if found else 0

    def wait_for_more(self, experiment: str, records: int = 1) -> None:
        """Wait until that many further records have come."""
        before = self.received(experiment)
        self.until(lambda: self.received(experiment) >= before + records, "nothing arrives any more")

    def finished(self, experiment: str) -> RunLedger:
        """The run's ledger when it is complete."""
        self.until(lambda: (found := ledger(self.storage, experiment)) and found.verdict == "complete", f"{experiment} is not complete")
        found = ledger(self.storage, experiment)
        assert found is not None
        return found

    def queued(self, port: str, exporter: str = "") -> float:
        """Bytes that wait in the queues of a Collector, or of one of its exporters."""
        return self._sum(port, "otelcol_exporter_queue_size{", exporter)

    def accepted(self, port: str) -> float:
        """Spans that a gateway took."""
        return self._sum(port, "otelcol_receiver_accepted_spans", 'receiver="otlp"')

    def _sum(self, port: str, begin: str, part: str) -> float:
        page = urllib.request.urlopen(self.url(port, "/metrics"), timeout=10).read().decode()
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(begin) and part in line)

    def _health(self, binary: str, files: Sequence[str], port: str, environment: dict[str, str]) -> Program:
        return Program([str(components.collector(binary)), *arguments(tuple(files))], environment, self.url(port))


class KafkaRoute(Route):
    """agent → relay → Apache Kafka → relay → gateway → bridge."""

    order = ("bridge", "gateway", "kafka", "relay_in", "relay_out", "agent")
    more_ports = ("kafka", "controller", "in", "in_tokens", "in_health", "in_metrics", "out_health", "out_metrics")

    def __post_init__(self) -> None:
        super().__post_init__()
        command = prepare(self.folder / "kafka", self.ports["kafka"], self.ports["controller"])
        common = {"ROLLSCOPE_KAFKA": f"[127.0.0.1:{self.ports['kafka']}]"}
        writing = {
            "ROLLSCOPE_RELAY_STORAGE": str(self.folder / "relay-in"),
            "ROLLSCOPE_RELAY_GRPC_PORT": self._port("in"),
            "ROLLSCOPE_RELAY_TOKENS_GRPC_PORT": self._port("in_tokens"),
            "ROLLSCOPE_RELAY_HEALTH_PORT": self._port("in_health"),
            "ROLLSCOPE_RELAY_METRICS_PORT": self._port("in_metrics"),
        }
        reading = {
            "ROLLSCOPE_GATEWAY": f"127.0.0.1:{self._port('gateway')}",
            "ROLLSCOPE_GATEWAY_TOKENS": f"127.0.0.1:{self._port('gateway_tokens')}",
            "ROLLSCOPE_RELAY_HEALTH_PORT": self._port("out_health"),
            "ROLLSCOPE_RELAY_METRICS_PORT": self._port("out_metrics"),
        }
        self.programs["kafka"] = Program(command, {}, f"tcp:{self.ports['kafka']}")
        self.programs["relay_in"] = self._health("relay", ["relay-in.yaml"], "in_health", common | writing)
        self.programs["relay_out"] = self._health("relay", ["relay-out.yaml"], "out_health", common | reading)
        to_relay = {
            "ROLLSCOPE_GATEWAY": f"127.0.0.1:{self._port('in')}",
            "ROLLSCOPE_GATEWAY_TOKENS": f"127.0.0.1:{self._port('in_tokens')}",
        }
        agent = self.programs["agent"]
        agent.environment = {**agent.environment, **to_relay}

    @staticmethod
    def _answers(url: str) -> bool:
        return listens(int(url.removeprefix("tcp:"))) if url.startswith("tcp:") else Stack._answers(url)

    def stop_broker(self) -> None:
        """End the broker as an administrator does, and wait until it is gone."""
        process = self.programs["kafka"].process
        assert process is not None
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(timeout=60)


class TwoGateways(Route):
    """agent → balancer → two gateways → bridge."""

    order = ("bridge", "gateway", "second", "balancer", "agent")
    more_ports = (
        *(f"second_{name}" for name in OF_GATEWAY),
        *(f"balancer{name}" for name in ("", "_http", "_tokens", "_health", "_metrics")),
        *(f"balancer_{name}" for name in ("first", "second", "first_tokens", "second_tokens")),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        first = self.programs["gateway"]
        own = {f"ROLLSCOPE_GATEWAY_{name.upper()}_PORT": self._port(f"second_{name}") for name in OF_GATEWAY} | {
            "ROLLSCOPE_GATEWAY_STORAGE": str(self.folder / "second")
        }
        self.programs["second"] = Program(first.command, {**first.environment, **own}, self.url("second_health"))
        self.programs["balancer"] = self._health("gateway", ["gateway-balancer.yaml"], "balancer_health", self._balancer())
        agent = self.programs["agent"]
        to_balancer = {
            "ROLLSCOPE_GATEWAY": f"127.0.0.1:{self._port('balancer')}",
            "ROLLSCOPE_GATEWAY_TOKENS": f"127.0.0.1:{self._port('balancer_tokens')}",
        }
        agent.environment = {**agent.environment, **to_balancer}

    def _balancer(self) -> dict[str, str]:
        return {
            "ROLLSCOPE_BALANCER_STORAGE": str(self.folder / "balancer"),
            "ROLLSCOPE_GATEWAY_FIRST": f"127.0.0.1:{self._port('gateway')}",
            "ROLLSCOPE_GATEWAY_FIRST_TOKENS": f"127.0.0.1:{self._port('gateway_tokens')}",
            "ROLLSCOPE_GATEWAY_SECOND": f"127.0.0.1:{self._port('second_grpc')}",
            "ROLLSCOPE_GATEWAY_SECOND_TOKENS": f"127.0.0.1:{self._port('second_tokens_grpc')}",
            "ROLLSCOPE_BALANCER_FIRST_PORT": self._port("balancer_first"),
            "ROLLSCOPE_BALANCER_FIRST_TOKENS_PORT": self._port("balancer_first_tokens"),
            "ROLLSCOPE_BALANCER_SECOND_PORT": self._port("balancer_second"),
            "ROLLSCOPE_BALANCER_SECOND_TOKENS_PORT": self._port("balancer_second_tokens"),
            "ROLLSCOPE_BALANCER_GRPC_PORT": self._port("balancer"),
            "ROLLSCOPE_BALANCER_HTTP_PORT": self._port("balancer_http"),
            "ROLLSCOPE_BALANCER_TOKENS_GRPC_PORT": self._port("balancer_tokens"),
            "ROLLSCOPE_BALANCER_HEALTH_PORT": self._port("balancer_health"),
            "ROLLSCOPE_BALANCER_METRICS_PORT": self._port("balancer_metrics"),
        }


R = TypeVar("R", bound=Route)


@contextmanager
def running(route: type[R], folder: Path, mlflow: Path) -> Iterator[R]:
    """A route with all its services, ended for sure; `mlflow` is an empty store of MLflow, of which the bridge gets a copy."""
    stack = route(folder)
    try:
        stack.take_store(mlflow)
        stack.start(*stack.order)
        yield stack
    finally:
        stack.end()
