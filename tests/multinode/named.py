"""Two gateways on hosts of their own, one name for both in a real DNS server, and a node whose agent sends to a balancer that asks it."""

from __future__ import annotations

import signal
import subprocess
import sys

from tests import components
from tests.collector.configurations import arguments
from tests.multinode.hosts import HEAD, READY, Cluster, start_agent

GATEWAYS = {"gateway-1": "10.77.0.11", "gateway-2": "10.77.0.12"}
NAME = "rollscope-gateway"
BALANCER = "10.77.0.10"
READ = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=10).read().decode())"


class NamedGateways:
    """They, the balancer's node, and the list that the DNS server (dnsmasq, on the head node) answers from."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self._collector = str(components.collector("gateway"))
        self._list = cluster.folder / "addresses"
        resolv_conf = cluster.folder / "resolv.conf"
        resolv_conf.write_text(f"nameserver {HEAD}\noptions timeout:1\n", encoding="utf-8")
        self._list.write_text("", encoding="utf-8")
        options = ["--no-hosts", "--no-resolv", f"--addn-hosts={self._list}", f"--listen-address={HEAD}", "--bind-interfaces"]
        program = components.program("dnsmasq", "apt-get install dnsmasq-base")
        command = [program, "--keep-in-foreground", "--user=root", "--pid-file", "--log-facility=-", *options]
        self._dns = cluster.head.serve(command, {}, "started")
        self.name(*GATEWAYS)
        for name, address in GATEWAYS.items():
            cluster.add(name, address)
            self.start(name)
        node = cluster.add("balancer", BALANCER, {"/etc/resolv.conf": resolv_conf})
        balancer = {"ROLLSCOPE_BALANCER_STORAGE": str(node.folder / "balancer"), "ROLLSCOPE_GATEWAYS_INTERVAL": "1s"}
        node.serve([self._collector, *arguments(("gateway-balancer-dns.yaml",))], balancer, READY)
        start_agent(node, self._collector, "127.0.0.1:16317", "127.0.0.1:16327")

    def name(self, *names: str) -> None:
        """Let the name stand for these gateways."""
        self._list.write_text("".join(f"{GATEWAYS[name]} {NAME}\n" for name in names), encoding="utf-8")
        self._dns.send_signal(signal.SIGHUP)  # it reads the list again

    def start(self, name: str) -> None:
        """Start a gateway, on the disk it had before."""
        host = self.cluster.hosts[name]
        gateway = {"ROLLSCOPE_GATEWAY_HOST": "0.0.0.0", "ROLLSCOPE_GATEWAY_STORAGE": str(host.folder / "gateway")}
        gateway["ROLLSCOPE_BRIDGE"] = f"{HEAD}:5317"
        host.serve([self._collector, *arguments(("gateway.yaml",))], gateway, READY)

    def kill(self, name: str) -> None:
        """End a gateway without a word."""
        self.cluster.hosts[name].kill()

    def accepted(self, name: str) -> float:
        """Spans that a gateway took."""
        return self._sum(name, "http://127.0.0.1:8889/metrics", "otelcol_receiver_accepted_spans", 'receiver="otlp"')

    def queued(self) -> float:
        """Bytes that wait in the agent and in the balancer."""
        pages = (8888, 8890)
        return sum(self._sum("balancer", f"http://127.0.0.1:{port}/metrics", "otelcol_exporter_queue_size{", "") for port in pages)

    def _sum(self, host: str, url: str, begin: str, part: str) -> float:
        read = [*self.cluster.hosts[host].wrap(), sys.executable, "-S", "-c", READ, url]
        page = subprocess.run(read, capture_output=True, text=True, timeout=30, check=True).stdout
        return sum(float(line.rpartition(" ")[2]) for line in page.splitlines() if line.startswith(begin) and part in line)
