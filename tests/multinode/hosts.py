"""A cluster on one machine: nodes with an agent each, one head node with gateway and bridge, wires to a switch on the head node.

Nothing touches the machine's own network. Default ports, as on real hosts; each host ends with everything that runs on it.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests import components
from tests.collector.configurations import arguments
from tests.multinode.host import Host, require_namespaces
from tests.multinode.launch import recording, start_rank, variables
from tests.waiting import ends_of_logs, until

HEAD = "10.77.0.1"
NODES = {"node-a": "10.77.0.2", "node-b": "10.77.0.3", "node-c": "10.77.0.4"}
READY = "Everything is ready"
"""What a Collector says when it is."""


@dataclass
class Cluster:
    """The hosts by name; the head node first."""

    folder: Path
    hosts: dict[str, Host] = field(default_factory=dict)
    _ranks: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=dict)

    @property
    def head(self) -> Host:
        """The one with gateway and bridge."""
        return self.hosts["head"]

    @property
    def storage(self) -> Path:
        """The bridge's folder."""
        return self.head.folder / "bridge"

    def add(self, name: str, address: str, binds: Mapping[str, Path] | None = None) -> Host:
        """Return a further host, wired to the switch."""
        host = Host(name, self.folder / name, binds or {})
        self.hosts[name] = host
        host.add()
        if name == "head":
            host.ip("link", "add", "switch", "type", "bridge")
            host.ip("address", "add", f"{address}/24", "dev", "switch")
            host.ip("link", "set", "switch", "up")
        else:
            self.head.ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", host.namespace)
            self.head.ip("link", "set", name, "master", "switch", "up")
            host.ip("address", "add", f"{address}/24", "dev", "eth0")
            host.ip("link", "set", "eth0", "up")
        return host

    def train(
        self,
        experiment: str,
        nodes: Sequence[str],
        ranks: Sequence[int],
        size: int,
        steps: int,
        seconds: float,
        shifted: Mapping[str, str] | None = None,
    ) -> None:
        """Start ranks, two on each of `nodes`; `shifted` are variables of those on the last one."""
        for rank in ranks:
            host = self.hosts[nodes[rank // 2]]
            extra = dict(shifted or {}) if host.name == nodes[-1] else {}
            environment = {**recording(host.folder / experiment, "http://127.0.0.1:4318", "http://127.0.0.1:4328"), **extra}
            environment |= variables(experiment, rank, size, 2)
            log = host.folder / f"{experiment}-rank-{rank}.log"
            process = start_rank(experiment, rank, steps, seconds, environment, log, host.wrap())
            host.processes.append(process)
            self._ranks.setdefault(experiment, []).append(process)

    def trained(self, experiment: str) -> bool:
        """Whether all ranks of a job have ended."""
        return all(rank.poll() is not None for rank in self._ranks[experiment])

    def cut(self, name: str) -> None:
        """Pull a node's cable."""
        self.head.ip("link", "set", name, "down")

    def mend(self, name: str) -> None:
        """Put it in again."""
        self.head.ip("link", "set", name, "up")

    def until(self, condition: Callable[[], object], what: str, seconds: float = 300) -> None:
        """Wait for something that happens on the hosts."""
        until(condition, seconds, say=lambda: f"{what}\n{ends_of_logs(self.folder)}")


@contextmanager
def running_cluster(folder: Path, mlflow: Path) -> Iterator[Cluster]:
    """Head and nodes with their services, ended for sure; `mlflow` is an empty store of MLflow, of which the bridge gets a copy."""
    require_namespaces()
    collector = str(components.collector("gateway"))
    cluster = Cluster(folder)
    try:
        cluster.add("head", HEAD)
        for name, address in NODES.items():
            cluster.add(name, address)
        cluster.storage.mkdir()
        shutil.copy(mlflow, cluster.storage / "mlflow.db")
        _start(cluster, collector)
        yield cluster
    finally:
        for host in reversed(cluster.hosts.values()):
            host.end()


def _start(cluster: Cluster, collector: str) -> None:
    bridge = {"ROLLSCOPE__STORAGE": str(cluster.storage), "ROLLSCOPE__BACKENDS__JSONL": "{}", "ROLLSCOPE__BACKENDS__MLFLOW": "{}"}
    # The switch is this job's alone: no TLS, no token.
    listen = {"ROLLSCOPE__LISTEN__GRPC": f"{HEAD}:5317", "ROLLSCOPE__LISTEN__HTTP": f"{HEAD}:5318", "ROLLSCOPE__LISTEN__INSECURE": "true"}
    cluster.head.serve([sys.executable, "-m", "rollscope_exporters.cli", "bridge"], bridge | listen, "OTLP/gRPC")
    gateway = {"ROLLSCOPE_GATEWAY_HOST": HEAD, "ROLLSCOPE_GATEWAY_STORAGE": str(cluster.head.folder / "gateway")}
    gateway["ROLLSCOPE_BRIDGE"] = f"{HEAD}:5317"
    cluster.head.serve([collector, *arguments(("gateway.yaml",))], gateway, READY)
    for name in NODES:
        start_agent(cluster.hosts[name], collector, f"{HEAD}:14317", f"{HEAD}:14327")


def start_agent(host: Host, collector: str, gateway: str, tokens: str) -> None:
    """Start a node's agent; the others are `host:port` of where it sends."""
    agent = {"ROLLSCOPE_AGENT_STORAGE": str(host.folder / "agent"), "ROLLSCOPE_GATEWAY": gateway, "ROLLSCOPE_GATEWAY_TOKENS": tokens}
    host.serve([collector, *arguments(("agent.yaml",))], agent, READY)
