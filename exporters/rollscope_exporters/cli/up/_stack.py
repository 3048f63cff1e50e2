"""Jaeger, Prometheus and the Collector in front of the bridge, where their programs and the folder of their configurations are.

The files are those of `collector-config/`; their variables say ports and places as everywhere else. What is not here is taken out of the
Collector's configuration, so that nothing piles up for it.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from ...settings import Settings, split_address
from ._locked import Lock
from ._service import Service

GATEWAY_HTTP, GATEWAY_TOKENS = "ROLLSCOPE_GATEWAY_HTTP_PORT", "ROLLSCOPE_GATEWAY_TOKENS_HTTP_PORT"
_PORTS = {
    GATEWAY_HTTP: 14318, "ROLLSCOPE_GATEWAY_GRPC_PORT": 14317, GATEWAY_TOKENS: 14328, "ROLLSCOPE_GATEWAY_TOKENS_GRPC_PORT": 14327,
    "ROLLSCOPE_GATEWAY_HEALTH_PORT": 13134, "ROLLSCOPE_GATEWAY_METRICS_PORT": 8889, "ROLLSCOPE_GATEWAY_PROMETHEUS_PORT": 14337,
    "ROLLSCOPE_JAEGER_OTLP_PORT": 24317, "ROLLSCOPE_JAEGER_HTTP_PORT": 16686, "ROLLSCOPE_JAEGER_GRPC_PORT": 16685,
    "ROLLSCOPE_JAEGER_HEALTH_PORT": 24133,
}  # fmt: skip
_CURES = {
    "rollscope-collector": "`make collector` builds it",
    "jaeger": "`make collector` builds it",
    "prometheus": "apt-get install prometheus, or any release from 2.42",
}


def find_program(name: str, cache: Path) -> str | None:
    """Return the path of a program: from the search path, else the newest one built into `cache` (`<cache>/<build>/<name>`)."""
    if found := shutil.which(name):
        return found
    built = [path for path in cache.glob(f"*/{name}") if os.access(path, os.X_OK)]
    return str(max(built, key=lambda path: path.stat().st_mtime)) if built else None


def cache_folder(env: Mapping[str, str]) -> Path:
    """Return where `make collector` puts programs: `ROLLSCOPE_CACHE`, else `rollscope` in the user's cache folder."""
    if chosen := env.get("ROLLSCOPE_CACHE"):
        return Path(chosen)
    return Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rollscope"


class Stack:
    """What can be had of it."""

    def __init__(self, settings: Settings, configurations: Path, cache: Path, prometheus: str) -> None:
        """`configurations`: the folder `collector-config`. `prometheus`: `host:port` of its pages."""
        self._storage = settings.storage.absolute()
        self.lock = Lock(settings.listen, self._storage / "up", os.environ)
        self._files, self._prometheus_address = configurations.absolute(), prometheus
        self._programs = {name: find_program(name, cache) for name in ("jaeger", "prometheus", "rollscope-collector")}

    def stores(self, bridge_http: str | None) -> list[Service]:
        """Return Jaeger and Prometheus."""
        return [self._jaeger(), self._prometheus(bridge_http)]

    def collector(self, bridge_grpc: str | None, jaeger: Service, prometheus: Service) -> Service:
        """Return the Collector, which feeds what of them has been started."""
        service = self._service("Collector", "rollscope-collector", "gateway.yaml")
        if bridge_grpc is None:
            service.problem = service.problem or "it speaks gRPC to the bridge, and listen.grpc is switched off"
            return service
        bridge = _reachable(bridge_grpc)
        service.problem = service.problem or self.lock.problem or self.lock.check(bridge)
        if service.problem:
            return service
        configs = self._configs(jaeger.process is not None, prometheus.process is not None)
        service.command = [str(self._programs["rollscope-collector"]), *(f"--config={config}" for config in configs)]
        service.listens = [_local(name) for name in _PORTS if name.startswith("ROLLSCOPE_GATEWAY")]
        service.where = f"{self.lock.scheme}://{_local(GATEWAY_HTTP)} (OTLP/HTTP), {_local('ROLLSCOPE_GATEWAY_GRPC_PORT')} (OTLP/gRPC)"
        service.metrics = f"http://{_local('ROLLSCOPE_GATEWAY_METRICS_PORT')}/metrics"
        service.environment = {
            "ROLLSCOPE_GATEWAY_HOST": "127.0.0.1",
            "ROLLSCOPE_GATEWAY_STORAGE": str(self._storage / "collector"),
            "ROLLSCOPE_BRIDGE": bridge,
            "ROLLSCOPE_JAEGER": _local("ROLLSCOPE_JAEGER_OTLP_PORT"),
            "ROLLSCOPE_PROMETHEUS": f"http://{self._prometheus_address}/api/v1/write",
        }
        return service

    def endpoints(self) -> dict[str, str]:
        """Return the variables that send runs of this machine to the Collector."""
        addresses = {"ROLLSCOPE_ENDPOINT": GATEWAY_HTTP, "ROLLSCOPE_ENDPOINT_TOKENS": GATEWAY_TOKENS}
        return {name: f"{self.lock.scheme}://{_local(port)}" for name, port in addresses.items()} | self.lock.variables()

    def _configs(self, jaeger: bool, prometheus: bool) -> list[Path]:
        """Return the files that the Collector is started with, later ones changing earlier ones."""
        own = self._files / "gateway.yaml"
        whole = yaml.safe_load(own.read_text(encoding="utf-8"))
        configs = [own if jaeger and prometheus else self._write("gateway.yaml", reduced(whole, jaeger, prometheus))]
        if self.lock.closed:
            self.lock.keep_token()
            configs.append(self._write("locked.yaml", self.lock.overlay(whole["service"]["extensions"])))
        return configs

    def _jaeger(self) -> Service:
        service = self._service("Jaeger", "jaeger", "jaeger.yaml")
        service.command = [str(self._programs["jaeger"]), f"--config={self._files / 'jaeger.yaml'}"]
        service.listens = [_local(name) for name in _PORTS if name.startswith("ROLLSCOPE_JAEGER")]
        service.where = f"http://{_local('ROLLSCOPE_JAEGER_HTTP_PORT')}"
        service.environment = {"ROLLSCOPE_JAEGER_HOST": "127.0.0.1"}
        return service

    def _prometheus(self, bridge_http: str | None) -> Service:
        service = self._service("Prometheus", "prometheus", "prometheus/prometheus.yaml")
        if service.problem:
            return service
        folder = self._storage / "up" / "prometheus"
        shutil.copytree(self._files / "prometheus", folder, dirs_exist_ok=True)
        targets = [{"targets": [_local("ROLLSCOPE_GATEWAY_METRICS_PORT")], "labels": {"job": "rollscope-gateway"}}]
        (folder / "targets.yaml").write_text(json.dumps(targets), encoding="utf-8")
        if bridge_http:
            self.lock.keep_token()
            config = yaml.safe_load((folder / "prometheus.yaml").read_text(encoding="utf-8"))
            config["scrape_configs"].append(self.lock.scrape(_reachable(bridge_http)))
            (folder / "prometheus.yaml").write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        service.command = [
            str(self._programs["prometheus"]), f"--config.file={folder / 'prometheus.yaml'}",
            f"--storage.tsdb.path={self._storage / 'prometheus'}", f"--web.listen-address={self._prometheus_address}",
            "--web.enable-remote-write-receiver", "--enable-feature=native-histograms",
        ]  # fmt: skip
        service.listens, service.where = [self._prometheus_address], f"http://{self._prometheus_address}"
        return service

    def _service(self, name: str, program: str, file: str) -> Service:
        """Return a service that says what it lacks."""
        if self._programs[program] is None:
            return Service(name, problem=f"no program {program} on the path or in the cache: {_CURES[program]}")
        if not (self._files / file).is_file():
            return Service(name, problem=f"no {self._files / file}: name the folder with --collector-config")
        return Service(name)

    def _write(self, name: str, config: Any) -> Path:
        path = self._storage / "up" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(config, sort_keys=False), encoding="utf-8")
        return path


def reduced(config: dict[str, Any], jaeger: bool, prometheus: bool) -> dict[str, Any]:
    """Return the gateway's configuration without the ways to what is not there."""
    gone = {name for name in config["exporters"] if (not jaeger and "/jaeger" in name) or (not prometheus and "prometheus" in name)}
    if not prometheus:
        gone.add("span_metrics")
    found = {}
    for name, pipeline in config["service"]["pipelines"].items():
        left = [exporter for exporter in pipeline["exporters"] if exporter not in gone]
        if left:
            found[name] = {**pipeline, "exporters": left}
    used = {part for pipeline in found.values() for kind in ("receivers", "exporters") for part in pipeline[kind]}
    sections = {
        kind: {name: part for name, part in config.get(kind, {}).items() if name in used}
        for kind in ("receivers", "exporters", "connectors")
    }
    config = {**config, **{kind: parts for kind, parts in sections.items() if parts}, "service": {**config["service"], "pipelines": found}}
    return config if sections["connectors"] else {key: part for key, part in config.items() if key != "connectors"}


def _local(name: str) -> str:
    return f"127.0.0.1:{os.environ.get(name) or _PORTS[name]}"


def _reachable(address: str) -> str:
    """Return where a program of this machine finds what listens at `address`."""
    host, port = split_address(address)
    return f"127.0.0.1:{port}" if host in ("0.0.0.0", "::") else address
