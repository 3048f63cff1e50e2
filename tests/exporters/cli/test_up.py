"""`rollscope up`: everything in one terminal."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
import urllib3
import yaml

from rollscope_exporters.cli.up import mlflow_store
from rollscope_exporters.cli.up._command import _signals
from rollscope_exporters.cli.up._stack import _PORTS, find_program, reduced
from rollscope_exporters.records import Trace, decode
from rollscope_exporters.settings import Settings
from rollscope_exporters.store import Store
from tests import components
from tests.exporters.cli.ups import CONFIGURATIONS, answers, mlflow_pages, started
from tests.fixtures.ports import free_port
from tests.waiting import until


@pytest.fixture
def hangup() -> Iterator[None]:
    """Give SIGHUP its usual effect, which `nohup` around the tests takes away."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_the_store_whose_pages_are_served(tmp_path: Path) -> None:
    """That of the MLflow backend; a server that is configured has its own pages."""
    assert mlflow_store(Settings(storage=tmp_path)) == f"sqlite:///{tmp_path / 'mlflow.db'}"
    assert mlflow_store(Settings(backends={"jsonl": {}})) is None
    assert mlflow_store(Settings(backends={"mlflow": {"tracking_uri": "http://host:5000"}})) is None
    assert mlflow_store(Settings(backends={"mlflow": {"tracking_uri": "sqlite:////x/y.db"}})) == "sqlite:////x/y.db"


def test_a_program_is_found_on_the_path_or_built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The path first, then the newest build in the cache."""
    for age, build in enumerate(("new", "old")):
        binary = tmp_path / f"gateway-{build}" / "rollscope-collector"
        binary.parent.mkdir()
        binary.write_text("#!/bin/sh")
        binary.chmod(0o755)
        os.utime(binary, (1000 - age, 1000 - age))
    monkeypatch.setenv("PATH", str(tmp_path / "gateway-old"))
    assert find_program("rollscope-collector", tmp_path) == str(tmp_path / "gateway-old" / "rollscope-collector")
    monkeypatch.setenv("PATH", "")
    assert find_program("rollscope-collector", tmp_path) == str(tmp_path / "gateway-new" / "rollscope-collector")
    assert find_program("jaeger", tmp_path) is None


@pytest.mark.parametrize(("jaeger", "prometheus"), [(True, True), (True, False), (False, True), (False, False)])
def test_the_collector_goes_only_where_something_is(jaeger: bool, prometheus: bool) -> None:
    """Everything to the bridge in any case; what is named in a pipeline is configured, and the other way round."""
    found = reduced(yaml.safe_load((CONFIGURATIONS / "gateway.yaml").read_text()), jaeger, prometheus)
    pipelines = found["service"]["pipelines"]
    assert {"logs/run", "traces/bridge", "metrics/bridge", "logs/tokens"} <= pipelines.keys()
    exporters = {name for pipeline in pipelines.values() for name in pipeline["exporters"]}
    assert any("jaeger" in name for name in exporters) is jaeger
    assert any("prometheus" in name for name in exporters) is prometheus
    assert exporters == found["exporters"].keys() | found.get("connectors", {}).keys()
    assert {name for pipeline in pipelines.values() for name in pipeline["receivers"]} <= found["receivers"].keys() | exporters


@pytest.mark.integration
def test_it_says_where_to_look_and_ends_as_one(tmp_path: Path, unused_tcp_port: int) -> None:
    """Ctrl-C ends the bridge and the pages; without configurations the table says that the Collector is not started and why."""
    process, shown = started(tmp_path, "--mlflow", f"127.0.0.1:{unused_tcp_port}", rows=9)
    with process:
        try:
            assert shown["MLflow"] == f"http://127.0.0.1:{unused_tcp_port}"
            assert shown["Collector"].startswith("not started: ")
            assert shown["runs set"] == f"ROLLSCOPE_ENDPOINT={shown['OTLP/HTTP']}"
            with urllib3.PoolManager(retries=False) as pool:
                assert pool.request("GET", shown["status"]).status == 200
            until(lambda: len(mlflow_pages(process.pid)) == 1, say="MLflow's pages do not run")
            pages = mlflow_pages(process.pid)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert not pages[0].is_running()
    assert "ended" in (tmp_path / "storage" / "bridge.log").read_text()


@pytest.mark.integration
def test_nothing_outlives_it(tmp_path: Path, mlflow_store: Path, unused_tcp_port: int) -> None:
    """Killed: the pages end."""
    (tmp_path / "storage").mkdir()
    shutil.copy(mlflow_store, tmp_path / "storage" / "mlflow.db")
    process, _ = started(tmp_path, "--mlflow", f"127.0.0.1:{unused_tcp_port}", rows=9)
    with process:
        try:
            until(lambda: len(mlflow_pages(process.pid)) == 1, say="MLflow's pages do not run")
            below = psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()
    until(lambda: not any(child.is_running() for child in below), say="something was left behind")


@pytest.mark.usefixtures("hangup")
def test_a_closed_terminal_ends_it_in_order(tmp_path: Path) -> None:
    """SIGHUP ends the bridge as it should, with exit code 0, though nothing can be printed any more."""
    (tmp_path / "rollscope.yaml").write_text("backends: {jsonl: {}}")
    process, _ = started(tmp_path, rows=8)
    with process:
        try:
            assert process.stdout
            process.stdout.close()
            process.send_signal(signal.SIGHUP)
            assert process.wait(60) == 0
        finally:
            process.kill()
    assert "ended" in (tmp_path / "storage" / "bridge.log").read_text()


@pytest.mark.usefixtures("hangup")
def test_under_nohup_a_closed_terminal_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGHUP is ignored then, and stays so."""
    assert signal.SIGHUP in _signals()
    monkeypatch.setattr(signal, "getsignal", lambda number: signal.SIG_IGN)
    assert _signals() == (signal.SIGTERM, signal.SIGINT)


@pytest.mark.integration
def test_the_whole_stack_drains_into_the_bridge_when_it_ends(tmp_path: Path) -> None:
    """Collector, Jaeger, Prometheus and TensorBoard's pages really run; what the Collector took a moment before Ctrl-C is in the bridge."""
    for name in ("gateway", "jaeger"):
        components.collector(name)
    components.program("prometheus", "apt-get install prometheus")
    components.module("tensorboard", "pip install tensorboard")
    (tmp_path / "rollscope.yaml").write_text("backends: {jsonl: {}, tensorboard: {}}")
    ports = {name: str(free_port()) for name in _PORTS}
    address = {name: f"127.0.0.1:{free_port()}" for name in ("tensorboard", "prometheus")}
    options = ["--collector-config", str(CONFIGURATIONS), *(part for name, where in address.items() for part in (f"--{name}", where))]
    process, shown = started(tmp_path, *options, rows=9, **ports)
    with process, urllib3.PoolManager(retries=False) as pool:
        try:
            pages = {
                "tensorboard": shown["TensorBoard"],
                "jaeger": shown["Jaeger"],
                "prometheus": f"{shown['Prometheus']}/-/ready",
                "collector": f"http://127.0.0.1:{ports['ROLLSCOPE_GATEWAY_HEALTH_PORT']}",
            }
            for name, url in pages.items():
                until(lambda url=url: answers(pool, url), say=f"{name} does not answer")  # type: ignore[misc]
            assert shown["runs set"].startswith(f"ROLLSCOPE_ENDPOINT=http://127.0.0.1:{ports['ROLLSCOPE_GATEWAY_HTTP_PORT']} ")
            children = psutil.Process(process.pid).children(recursive=True)
            span = {"traceId": "1" * 32, "spanId": "2" * 16, "name": "late", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
            body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
            endpoint = shown["runs set"].split()[0].partition("=")[2]
            assert pool.request("POST", f"{endpoint}/v1/traces", json=body).status == 200
            process.send_signal(signal.SIGINT)
            assert process.wait(90) == 0
        finally:
            process.kill()
    assert not [child for child in children if child.is_running()]
    storage = tmp_path / "storage"
    ends = [(storage / name).stat().st_mtime for name in ("tensorboard-ui.log", "collector.log", "bridge.log")]
    assert ends == sorted(ends)
    with Store.open(storage / "store.db", read_only=True) as store:
        rows = store.rows(0, signals={"traces"})
        assert [span.name for row in rows if isinstance(found := decode(row.payload), Trace) for span in found.spans] == ["late"]


@pytest.mark.integration
def test_swanlabs_pages_come_with_the_first_run(tmp_path: Path) -> None:
    """They never look again for a database that was not there when they started; so they start when it is."""
    components.module("swanboard", "pip install 'swanlab[dashboard]'")
    (tmp_path / "rollscope.yaml").write_text("backends: {swanlab: {mode: local}}")
    address = f"127.0.0.1:{free_port()}"
    process, shown = started(tmp_path, "--bare", "--swanlab", address, rows=6)
    with process, urllib3.PoolManager(retries=False) as pool:
        try:
            assert shown["SwanLab"] == f"http://{address} (with the first run)"
            code = "import rollscope as rs; rs.init(project='p', experiment='first'); rs.log({'x': 1.0}, step=1); rs.finish()"
            env = {**os.environ, "ROLLSCOPE_ENDPOINT": shown["OTLP/HTTP"], "ROLLSCOPE_DIR": str(tmp_path / "journal")}
            subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, check=True)
            until(lambda: answers(pool, f"http://{address}/api/v1/project"), say="the pages do not answer")
            assert "first" in pool.request("GET", f"http://{address}/api/v1/project").data.decode()
            process.send_signal(signal.SIGINT)
            assert process.wait(90) == 0
        finally:
            process.kill()
