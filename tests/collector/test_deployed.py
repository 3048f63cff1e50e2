"""What Compose file and manifests would run in containers, run as processes in a network of their own: the very same configurations.

In that network, names of services lead to this one host; Jaeger, Prometheus and MLflow are away.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.collector.parts import Part, built, composed, parts_of_compose, parts_of_manifests
from tests.multinode.host import Host, require_namespaces
from tests.multinode.launch import check_lines, ledger, recording, start_rank, variables
from tests.waiting import ends_of_logs, until

pytestmark = pytest.mark.integration
ORDER = ("bridge", "gateway", "agent")
NAMES = {
    "compose": ("bridge", "gateway", "agent", "jaeger", "prometheus", "mlflow"),
    "kubernetes": tuple(f"rollscope-{name}.rollscope.svc" for name in ORDER),
}


@contextmanager
def host(folder: Path, names: tuple[str, ...]) -> Iterator[Host]:
    """A host on which names of services mean itself."""
    require_namespaces()
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(names)}\n", encoding="utf-8")
    found = Host("pod", folder / "pod", binds={"/etc/hosts": hosts})
    try:
        found.add()
        yield found
    finally:
        found.end()


def secrets(folder: Path) -> dict[str, dict[str, str]]:
    """What an operator puts into the cluster: a token, and a certificate that names the bridge."""
    key, certificate = folder / "tls.key", folder / "tls.crt"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=bridge", "-addext"]
    command += ["subjectAltName=DNS:rollscope-bridge.rollscope.svc", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, capture_output=True)
    tls = {"tls.crt": certificate.read_text(), "tls.key": key.read_text(), "ca.crt": certificate.read_text()}
    return {"rollscope-bridge": {"token": "correct-horse-battery"}, "rollscope-bridge-tls": tls}


def parts(way: str, folder: Path) -> dict[str, Part]:
    """Its containers, by what they are."""
    if way == "compose":
        return {part.name: part for part in parts_of_compose(composed(), folder)}
    found = parts_of_manifests(built(way), secrets(folder), folder)
    return {part.name.removeprefix("rollscope-"): part for part in found}


@pytest.mark.parametrize("way", ["compose", "kubernetes", "kubernetes-secured"])
def test_a_job_goes_through_what_would_be_deployed(way: str, tmp_path: Path) -> None:
    """Agent, gateway and bridge with arguments, variables and files of the deployment take a job to the last record."""
    with host(tmp_path, NAMES[way.removesuffix("-secured")]) as here:
        volumes = tmp_path / "volumes"
        volumes.mkdir()
        found = parts(way, volumes)
        for name in ORDER:
            ready = "OTLP/gRPC" if name == "bridge" else "Everything is ready"
            here.serve(found[name].command(), found[name].variables(), ready)
        agent = NAMES[way.removesuffix("-secured")][2]
        sending = recording(tmp_path / "node", f"http://{agent}:4318", f"http://{agent}:4328")
        rank = start_rank("deployed", 0, 3, 0, {**sending, **variables("deployed", 0, 1, 1)}, here.folder / "rank.log", here.wrap())
        here.processes.append(rank)
        storage = Path(found["bridge"].here(found["bridge"].environment["ROLLSCOPE__STORAGE"]))
        until(lambda: delivered(storage), 90, say=lambda: f"the job does not arrive\n{ends_of_logs(tmp_path)}")
        run = ledger(storage, "deployed")
        assert run is not None
        assert (run.missing, run.dropped) == (0, 0)
        check_lines(storage, run.run, range(1), steps=3)


def delivered(storage: Path) -> bool:
    """Whether JSONL has everything; MLflow's server is not here."""
    run = ledger(storage, "deployed")
    jsonl = next((backend for backend in run.backends if backend.backend == "jsonl"), None) if run else None
    return bool(run and jsonl and run.status == "finished" and jsonl.delivered == run.produced and jsonl.pending_rows == 0)
