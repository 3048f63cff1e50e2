"""Agent, gateway, bridge, Jaeger and Prometheus on one machine, from the very files of `collector-config/`."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from tests import components
from tests.collector.configurations import ROOT, arguments
from tests.fixtures.ports import free_ports
from tests.waiting import ends_of_logs, until

PORTS = (
    "agent", "agent_grpc", "agent_tokens", "agent_tokens_grpc", "agent_health", "agent_metrics",
    "gateway", "gateway_http", "gateway_tokens", "gateway_tokens_http", "gateway_health", "gateway_metrics", "gateway_prometheus",
    "bridge_grpc", "bridge", "jaeger_otlp", "jaeger", "jaeger_grpc", "jaeger_health", "prometheus",
)  # fmt: skip
SERVICES = ("jaeger", "prometheus", "bridge", "gateway", "agent")
"""In the order in which they start; each sends to earlier ones only."""


@dataclass
class Program:
    """How one of them is run."""

    command: Sequence[str]
    environment: Mapping[str, str]
    ready: str
    """URL that answers when it is."""
    process: subprocess.Popen[bytes] | None = None


@dataclass
class Stack:
    """All of them, each a child in a session of its own, with storage below `folder`."""

    folder: Path
    overlays: tuple[str, ...] = ()
    """Files that the gateway gets besides its own."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Further variables of the gateway."""
    more_ports: ClassVar[tuple[str, ...]] = ()
    """Ports of services that a kind of stack has besides."""
    demo: tuple[float, float] = (0.0, 0.0)
    """When the demo that went through began and ended, Unix seconds."""
    demo_run: str = ""
    """Identity of its run."""

    def __post_init__(self) -> None:
        self.ports = free_ports((*PORTS, *self.more_ports))
        self.programs = {
            "jaeger": self._jaeger(),
            "prometheus": self._prometheus(),
            "bridge": self._bridge(),
            "gateway": self._gateway(),
            "agent": self._agent(),
        }

    @property
    def storage(self) -> Path:
        """The bridge's folder."""
        return self.folder / "bridge"

    def take_store(self, mlflow: Path) -> None:
        """Give the bridge a copy of an empty store of MLflow, so that it need not make one."""
        self.storage.mkdir()
        shutil.copy(mlflow, self.storage / "mlflow.db")

    def url(self, name: str, path: str = "") -> str:
        """Address of one of `PORTS`."""
        return f"http://127.0.0.1:{self.ports[name]}{path}"

    @property
    def recording(self) -> dict[str, str]:
        """Environment in which a program records into the agent."""
        kept = {name: text for name, text in os.environ.items() if not name.startswith(("ROLLSCOPE", "OTEL_"))}
        return {
            **kept,
            "ROLLSCOPE_ENDPOINT": self.url("agent"),
            "ROLLSCOPE_ENDPOINT_TOKENS": self.url("agent_tokens"),
            "ROLLSCOPE_SHIPPER_GRACE": "0.5",
            "ROLLSCOPE_HOST_INTERVAL": "0.25",  # a rate needs two samples of the shortest demo
        }

    def start(self, *names: str) -> None:
        """Start some, or all, and wait until they are ready."""
        for name in names or SERVICES:
            program = self.programs[name]
            with (self.folder / f"{name}.log").open("ab") as log:
                program.process = subprocess.Popen(
                    program.command, env={**os.environ, **program.environment}, stdout=log, stderr=log, start_new_session=True
                )
        for name in names or SERVICES:
            self.until(lambda: self._answers(self.programs[name].ready), f"{name} did not start", 60)  # noqa: B023

    def kill(self, name: str) -> None:
        """End one without a word."""
        process = self.programs[name].process
        assert process is not None
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def end(self) -> None:
        """Kill all: what they still hold is of no interest, and a gateway that has nobody to send it to takes ten seconds to give up."""
        for program in self.programs.values():
            if process := program.process:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                program.process = None

    def get(self, name: str, path: str, **parameters: str) -> Any:
        """A JSON answer."""
        query = f"?{urllib.parse.urlencode(parameters)}" if parameters else ""
        with urllib.request.urlopen(self.url(name, path) + query, timeout=120) as response:
            return json.load(response)

    def query(self, expression: str, at: float | None = None) -> list[dict[str, Any]]:
        """Instant vector of Prometheus at a time, Unix seconds."""
        parameters = {"query": expression} | ({"time": repr(at)} if at is not None else {})
        found: list[dict[str, Any]] = self.get("prometheus", "/api/v1/query", **parameters)["data"]["result"]
        return found

    def samples(self, selector: str, minutes: int = 60) -> list[dict[str, Any]]:
        """Every stored sample of the last minutes, as a matrix."""
        return self.query(f"{selector}[{minutes}m]")

    def ledger(self) -> dict[str, Any]:
        """The bridge's ledger, without a run while nothing has arrived."""
        try:
            found: dict[str, Any] = self.get("bridge", "/v1/ledger")
        except urllib.error.HTTPError as error:
            if error.code != 503:
                raise
            return {"runs": []}
        return found

    def until(self, condition: Callable[[], object], what: str, seconds: float = 240) -> None:
        """Wait for something that processes do; fail with the end of their logs."""
        until(condition, seconds, say=lambda: f"{what}\n{ends_of_logs(self.folder)}")

    @staticmethod
    def _answers(url: str) -> bool:
        with contextlib.suppress(OSError), urllib.request.urlopen(url, timeout=2) as response:
            return bool(response.status == 200)
        return False

    def _port(self, name: str) -> str:
        return str(self.ports[name])

    def _agent(self) -> Program:
        environment = {
            "ROLLSCOPE_AGENT_STORAGE": str(self.folder / "agent"),
            "ROLLSCOPE_GATEWAY": f"127.0.0.1:{self._port('gateway')}",
            "ROLLSCOPE_GATEWAY_TOKENS": f"127.0.0.1:{self._port('gateway_tokens')}",
            "ROLLSCOPE_AGENT_GRPC_PORT": self._port("agent_grpc"),
            "ROLLSCOPE_AGENT_HTTP_PORT": self._port("agent"),
            "ROLLSCOPE_AGENT_TOKENS_GRPC_PORT": self._port("agent_tokens_grpc"),
            "ROLLSCOPE_AGENT_TOKENS_HTTP_PORT": self._port("agent_tokens"),
            "ROLLSCOPE_AGENT_HEALTH_PORT": self._port("agent_health"),
            "ROLLSCOPE_AGENT_METRICS_PORT": self._port("agent_metrics"),
        }
        return Program([str(components.collector("gateway")), *arguments(("agent.yaml",))], environment, self.url("agent_health"))

    def _gateway(self) -> Program:
        environment = {
            "ROLLSCOPE_SPAN_METRICS_INTERVAL": "1s",
            "ROLLSCOPE_GATEWAY_STORAGE": str(self.folder / "gateway"),
            "ROLLSCOPE_BRIDGE": f"127.0.0.1:{self._port('bridge_grpc')}",
            "ROLLSCOPE_JAEGER": f"127.0.0.1:{self._port('jaeger_otlp')}",
            "ROLLSCOPE_PROMETHEUS": self.url("prometheus", "/api/v1/write"),
            "ROLLSCOPE_GATEWAY_GRPC_PORT": self._port("gateway"),
            "ROLLSCOPE_GATEWAY_HTTP_PORT": self._port("gateway_http"),
            "ROLLSCOPE_GATEWAY_TOKENS_GRPC_PORT": self._port("gateway_tokens"),
            "ROLLSCOPE_GATEWAY_TOKENS_HTTP_PORT": self._port("gateway_tokens_http"),
            "ROLLSCOPE_GATEWAY_HEALTH_PORT": self._port("gateway_health"),
            "ROLLSCOPE_GATEWAY_METRICS_PORT": self._port("gateway_metrics"),
            "ROLLSCOPE_GATEWAY_PROMETHEUS_PORT": self._port("gateway_prometheus"),
            **self.environment,
        }
        files = ("gateway.yaml", *self.overlays)
        return Program([str(components.collector("gateway")), *arguments(files)], environment, self.url("gateway_health"))

    def _bridge(self) -> Program:
        environment = {
            "ROLLSCOPE__STORAGE": str(self.storage),
            "ROLLSCOPE__LISTEN__GRPC": f"127.0.0.1:{self._port('bridge_grpc')}",
            "ROLLSCOPE__LISTEN__HTTP": f"127.0.0.1:{self._port('bridge')}",
            "ROLLSCOPE__BACKENDS__JSONL": "{}",
            "ROLLSCOPE__BACKENDS__MLFLOW__TRACKING_URI": f"sqlite:///{self.storage / 'mlflow.db'}",
        }
        return Program([sys.executable, "-m", "rollscope_exporters.cli", "bridge"], environment, self.url("bridge", "/readyz"))

    def _jaeger(self) -> Program:
        environment = {
            "ROLLSCOPE_JAEGER_OTLP_PORT": self._port("jaeger_otlp"),
            "ROLLSCOPE_JAEGER_HTTP_PORT": self._port("jaeger"),
            "ROLLSCOPE_JAEGER_GRPC_PORT": self._port("jaeger_grpc"),
            "ROLLSCOPE_JAEGER_HEALTH_PORT": self._port("jaeger_health"),
        }
        command = [str(components.collector("jaeger")), *arguments(("jaeger.yaml",))]
        return Program(command, environment, self.url("jaeger_health", "/status"))

    def _prometheus(self) -> Program:
        """Its files as they are, but for where to scrape and how often."""
        folder = self.folder / "prometheus"
        shutil.copytree(ROOT / "prometheus", folder)
        config = folder / "prometheus.yaml"
        config.write_text(config.read_text().replace("interval: 15s", "interval: 1s"), encoding="utf-8")
        jobs = {"agent": "agent_metrics", "gateway": "gateway_metrics", "bridge": "bridge"}
        targets = [{"targets": [f"127.0.0.1:{self._port(port)}"], "labels": {"job": f"rollscope-{job}"}} for job, port in jobs.items()]
        (folder / "targets.yaml").write_text(json.dumps(targets), encoding="utf-8")
        command = [
            components.program("prometheus", "apt-get install prometheus"), f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'data'}", f"--web.listen-address=127.0.0.1:{self._port('prometheus')}",
            "--web.enable-remote-write-receiver", "--enable-feature=native-histograms",
        ]  # fmt: skip
        return Program(command, {}, self.url("prometheus", "/-/ready"))
