"""What cannot run here is held against its schema by the tools that deploy it, and what it names must exist."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from tests import components
from tests.collector.configurations import ROOT
from tests.collector.parts import built, composed

RELEASE = "1.31"
WAYS = ("kubernetes", "kubernetes-secured")
UNITS = sorted((ROOT / "systemd").glob("*.service"))


def documents(path: Path) -> list[dict[str, Any]]:
    """Return the objects of one manifest."""
    return list(yaml.safe_load_all(path.read_text(encoding="utf-8")))


def pods(way: str) -> dict[str, dict[str, Any]]:
    """Pod templates by the name of what makes them."""
    found = [document for document in built(way) if "template" in document.get("spec", {})]
    return {document["metadata"]["name"]: document["spec"]["template"]["spec"] for document in found}


@pytest.mark.parametrize("way", WAYS)
def test_what_kustomize_builds_follows_the_schema(way: str) -> None:
    """Every object, the example secret too, is valid against the API's schema, unknown keys included."""
    found = built(way) + documents(ROOT / "kubernetes" / "secret.example.yaml")
    kinds = {document["kind"] for document in found}
    assert kinds == {"Namespace", "ConfigMap", "Service", "DaemonSet", "StatefulSet", "PodDisruptionBudget", "NetworkPolicy", "Secret"}
    for document in found:
        assert kubernetes_validate.validate(document, RELEASE, strict=True) == RELEASE


def test_a_misspelt_key_is_refused() -> None:
    """The schema check above can fail."""
    daemon_set = documents(ROOT / "kubernetes" / "agent.yaml")[0]
    daemon_set["spec"]["template"]["spec"]["container"] = []
    with pytest.raises(kubernetes_validate.ValidationError, match="container"):
        kubernetes_validate.validate(daemon_set, RELEASE, strict=True)


def test_every_manifest_is_in_the_kustomization() -> None:
    """Nothing is forgotten but the example secret."""
    found = documents(ROOT / "kubernetes" / "kustomization.yaml")[0]
    names = {path.name for path in (ROOT / "kubernetes").glob("*.yaml")}
    assert set(found["resources"]) == names - {"kustomization.yaml", "secret.example.yaml"}


@pytest.mark.parametrize("way", WAYS)
def test_the_namespace_admits_the_pods(way: str) -> None:
    """Pod security lets in what the pods ask for: "baseline" would refuse the agent's folder on the node."""
    (namespace,) = [document for document in built(way) if document["kind"] == "Namespace"]
    found = pods(way).values()
    on_the_node = any("hostPath" in volume for pod in found for volume in pod["volumes"])
    ports = any("hostPort" in port for pod in found for container in pod["containers"] for port in container["ports"])
    assert (namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == "privileged") == (on_the_node or ports)


@pytest.mark.parametrize("way", WAYS)
def test_pods_can_write_where_they_must_and_nowhere_else(way: str) -> None:
    """Each has probes, a limit and a read-only root; its queue is on a volume that its user may write and that outlives the pod."""
    found = pods(way)
    assert found.keys() == {"rollscope-agent", "rollscope-gateway", "rollscope-bridge"}
    claims = {
        document["metadata"]["name"]: [claim["metadata"]["name"] for claim in document["spec"].get("volumeClaimTemplates", [])]
        for document in built(way)
        if document["kind"] in ("StatefulSet", "DaemonSet")
    }
    for name, pod in found.items():
        (container,) = pod["containers"]
        assert {"readinessProbe", "livenessProbe"} <= container.keys()
        assert container["securityContext"]["readOnlyRootFilesystem"]
        assert "memory" in container["resources"]["limits"]
        lasting = claims[name] + [volume["name"] for volume in pod["volumes"] if "hostPath" in volume]
        (storage,) = [text["value"] for text in container["env"] if text["name"].endswith("STORAGE")]
        (mount,) = [mount for mount in container["volumeMounts"] if storage == mount["mountPath"]]
        assert mount["name"] in lasting
        root = container["securityContext"].get("runAsUser") == 0
        assert root or "fsGroup" in pod["securityContext"]


@pytest.mark.parametrize("way", WAYS)
def test_services_and_policies_select_pods_and_ports_that_are_there(way: str) -> None:
    """Every selector finds a workload, and every port that is offered or let in is one that it listens on."""
    found = built(way)
    ports = {
        document["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"]: {
            port["containerPort"] for port in document["spec"]["template"]["spec"]["containers"][0]["ports"]
        }
        for document in found
        if "template" in document.get("spec", {})
    }
    selected = {"Service": [], "NetworkPolicy": []}  # type: dict[str, list[str]]
    for document in found:
        spec = document.get("spec", {})
        if document["kind"] == "Service":
            name, offered = spec["selector"]["app.kubernetes.io/name"], {port["port"] for port in spec["ports"]}
        elif document["kind"] == "NetworkPolicy":
            name = spec["podSelector"]["matchLabels"]["app.kubernetes.io/name"]
            offered = {port["port"] for rule in spec["ingress"] for port in rule["ports"]}
        else:
            continue
        selected[document["kind"]].append(name)
        assert offered <= ports[name]
    assert all(set(names) == ports.keys() for names in selected.values())


def test_prometheus_looks_for_services_and_ports_that_are_there() -> None:
    """In a cluster each job's name is a service's, and its port one that the service's pods listen on."""
    ports = {name: {port["containerPort"] for port in pod["containers"][0]["ports"]} for name, pod in pods("kubernetes").items()}
    behind = {
        document["metadata"]["name"]: document["spec"]["selector"]["app.kubernetes.io/name"]
        for document in built("kubernetes")
        if document["kind"] == "Service"
    }
    jobs = {job["job_name"]: job["dns_sd_configs"][0] for job in documents(ROOT / "prometheus" / "kubernetes.yaml")[0]["scrape_configs"]}
    assert jobs.keys() == ports.keys()
    for name, found in jobs.items():
        (host,) = found["names"]
        assert behind[host.removesuffix(".rollscope.svc.cluster.local")] == name
        assert found["port"] in ports[name]


def test_compose_is_valid_and_mounts_files_that_exist() -> None:
    """Docker Compose's own loader takes the file; every bind mount and every build file is in the repository."""
    services = composed()["services"]
    mounts = [volume["source"] for service in services.values() for volume in service.get("volumes", []) if volume["type"] == "bind"]
    builds = [Path(service["build"]["context"], service["build"]["dockerfile"]) for service in services.values() if "build" in service]
    assert [path for path in [*mounts, *builds] if not Path(path).exists()] == []


def test_images_own_the_folders_of_their_volumes() -> None:
    """A named volume takes its owner from the image's folder: where there is none, only root could write to it."""
    services = composed()["services"]
    for name in ("agent", "gateway", "bridge"):
        service = services[name]
        dockerfile = Path(service["build"]["context"], service["build"]["dockerfile"]).read_text(encoding="utf-8")
        (target,) = [Path(volume["target"]) for volume in service["volumes"] if volume["type"] == "volume"]
        owned = re.findall(r"^(?:COPY .*--chown=|.*install -d -o ).*?(/\S+)$", dockerfile, re.MULTILINE)
        made = re.findall(r"state/(\w+)", dockerfile)
        assert any(str(target) == place or (str(target.parent) == place and target.name in made) for place in owned)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_units_are_valid(unit: Path, tmp_path: Path) -> None:
    """`systemd-analyze verify` finds nothing to say, once the programs are where they are to be."""
    analyze = components.program("systemd-analyze", "apt-get install systemd")
    program = shutil.which("true")
    text = unit.read_text(encoding="utf-8")
    for name in ("rollscope-collector", "rollscope"):
        text = text.replace(f"/opt/rollscope/bin/{name} ", f"{program} ")
    copy = tmp_path / unit.name
    copy.write_text(text, encoding="utf-8")
    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True)
    assert (done.returncode, [line for line in done.stderr.splitlines() if unit.name.partition("@")[0] in line]) == (0, [])


def test_a_wrong_unit_is_found(tmp_path: Path) -> None:
    """The check above can fail."""
    copy = tmp_path / "wrong.service"
    copy.write_text("[Service]\nExecStrat=/bin/true\n", encoding="utf-8")
    analyze = components.program("systemd-analyze", "apt-get install systemd")
    done = subprocess.run([analyze, "verify", "--man=no", str(copy)], capture_output=True, text=True)
    assert "ExecStrat" in done.stderr


def test_units_run_as_a_user_that_is_made() -> None:
    """The user of the units is the one that the file for systemd-sysusers makes."""
    made = (ROOT / "systemd" / "rollscope.conf").read_text(encoding="utf-8")
    for unit in UNITS:
        (user,) = [line.partition("=")[2] for line in unit.read_text(encoding="utf-8").splitlines() if line.startswith("User=")]
        assert f"\nu {user} " in made


@pytest.mark.parametrize("path", sorted((ROOT / "slurm").iterdir()), ids=lambda path: path.name)
def test_slurm_scripts_parse(path: Path) -> None:
    """The shell accepts each script."""
    done = subprocess.run(["bash", "-n", str(path)], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
