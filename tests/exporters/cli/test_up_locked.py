"""`rollscope up` with TLS and a token: the Collector, Prometheus and the runs go through the same lock as everyone."""

from __future__ import annotations

import os
import signal
import ssl
import stat
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
import urllib3
import yaml

from rollscope_exporters.cli.up._locked import Lock
from rollscope_exporters.cli.up._stack import _PORTS
from rollscope_exporters.settings import Listen, Tls
from tests import components
from tests.exporters.cli.ups import CONFIGURATIONS, answers, started
from tests.fixtures.certificates import Certificates
from tests.fixtures.ports import free_port
from tests.waiting import until

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made once."""
    return Certificates(tmp_path_factory.mktemp("certificates"))


def listen(certificates: Certificates, *, mutual: bool = False) -> Listen:
    """A bridge with TLS."""
    authority = certificates.path("authority") if mutual else None
    return Listen(tls=Tls(cert_file=certificates.path("server"), key_file=certificates.key("server"), client_ca_file=authority))


def test_an_open_bridge_changes_nothing(tmp_path: Path) -> None:
    """Without TLS and token there is nothing to add, and no token is written."""
    lock = Lock(Listen(), tmp_path, {})
    lock.keep_token()
    assert (lock.closed, lock.scheme, lock.variables(), list(tmp_path.iterdir())) == (False, "http", {}, [])
    assert lock.scrape("h:1") == {"job_name": "rollscope-bridge", "scheme": "http", "static_configs": [{"targets": ["h:1"]}]}


def test_the_token_is_for_this_user_only(tmp_path: Path) -> None:
    """It is in a file of mode 600 and in no configuration."""
    lock = Lock(Listen(token=TOKEN), tmp_path, {})
    lock.keep_token()
    lock.keep_token()
    assert (tmp_path / "token").read_text() == TOKEN
    assert stat.S_IMODE((tmp_path / "token").stat().st_mode) == 0o600
    assert TOKEN not in str((lock.overlay([]), lock.scrape("h:1"), lock.variables()))


def test_a_client_certificate_that_is_asked_for(certificates: Certificates, tmp_path: Path) -> None:
    """Under mTLS the variables that runs have are needed, and what is lacking is named."""
    assert (
        "set OTEL_EXPORTER_OTLP_CLIENT_KEY"
        in Lock(listen(certificates, mutual=True), tmp_path, {"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "c.pem"}).problem
    )
    assert Lock(listen(certificates), tmp_path, {}).problem == ""


def ask(url: str, body: dict[str, object], certificates: Certificates, token: str | None) -> int:
    """Send a trace and return the status."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    context = ssl.create_default_context(cafile=certificates.path("authority"))
    with urllib3.PoolManager(ssl_context=context, retries=False) as pool:
        return pool.request("POST", f"{url}/v1/traces", json=body, headers=headers).status


@pytest.mark.integration
def test_records_go_through_the_lock(tmp_path: Path, certificates: Certificates) -> None:
    """Without the token the Collector takes nothing; with it a run arrives, Prometheus reads the bridge's page, and all ends together."""
    components.collector("gateway")
    components.program("prometheus", "apt-get install prometheus")
    tls = {"cert_file": str(certificates.path("server")), "key_file": str(certificates.key("server"))}
    (tmp_path / "rollscope.yaml").write_text(yaml.safe_dump({"backends": {"jsonl": {}}, "listen": {"tls": tls}}))
    ports = {name: str(free_port()) for name in _PORTS}
    prometheus = f"127.0.0.1:{free_port()}"
    options = ["--collector-config", str(CONFIGURATIONS), "--prometheus", prometheus]
    secret = {"ROLLSCOPE__LISTEN__TOKEN": TOKEN, "OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates.path("authority"))}
    process, shown = started(tmp_path, *options, rows=8, **ports, **secret)
    with process, urllib3.PoolManager(retries=False) as pool:
        try:
            gateway = f"https://127.0.0.1:{ports['ROLLSCOPE_GATEWAY_HTTP_PORT']}"
            assert shown["runs set"].startswith(f"ROLLSCOPE_ENDPOINT={gateway} ")
            assert "OTEL_EXPORTER_OTLP_HEADERS=" in shown["runs set"]
            assert TOKEN not in str(shown)
            until(lambda: answers(pool, f"http://127.0.0.1:{ports['ROLLSCOPE_GATEWAY_HEALTH_PORT']}"), say="the Collector does not answer")
            assert ask(gateway, {}, certificates, None) == 401
            code = "import rollscope as rs; rs.init(project='p', experiment='locked'); rs.log({'x': 1.0}, step=1); rs.finish()"
            words = dict(word.split("=", 1) for word in shown["runs set"].split(" OTEL_EXPORTER_OTLP_HEADERS=")[0].split())
            words["OTEL_EXPORTER_OTLP_HEADERS"] = f"authorization=Bearer%20{TOKEN}"
            env = {**os.environ, **words, "ROLLSCOPE_DIR": str(tmp_path / "journal"), "ROLLSCOPE_SHIPPER_GRACE": "0.5"}
            subprocess.run([sys.executable, "-c", code], env=env, cwd=tmp_path, check=True)
            until(lambda: list((tmp_path / "storage").glob("jsonl/*/metrics.jsonl")), say="the run does not arrive")
            found = f"http://{prometheus}/api/v1/query?query=up%7Bjob%3D%22rollscope-bridge%22%7D%20%3D%3D%201"
            until(lambda: pool.request("GET", found).json()["data"]["result"], say="Prometheus cannot read the bridge's page")
            children = psutil.Process(process.pid).children(recursive=True)
            process.send_signal(signal.SIGINT)
            assert process.wait(90) == 0
        finally:
            process.kill()
    assert not [child for child in children if child.is_running()]


@pytest.mark.integration
def test_a_certificate_for_another_name(tmp_path: Path, certificates: Certificates) -> None:
    """The Collector is not started where it could not believe the bridge, and the table says why."""
    components.collector("gateway")
    tls = {"cert_file": str(certificates.path("server")), "key_file": str(certificates.key("server"))}
    (tmp_path / "rollscope.yaml").write_text(yaml.safe_dump({"backends": {"jsonl": {}}, "listen": {"tls": tls}}))
    other = {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(certificates.path("client"))}
    options = ["--collector-config", str(CONFIGURATIONS), "--prometheus", f"127.0.0.1:{free_port()}"]
    ports = {name: str(free_port()) for name in _PORTS}
    process, shown = started(tmp_path, *options, rows=8, **ports, **other)
    with process:
        try:
            assert shown["Collector"].startswith("not started: the bridge's certificate is not believed: ")
            process.send_signal(signal.SIGINT)
            assert process.wait(90) == 0
        finally:
            process.kill()
