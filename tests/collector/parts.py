"""What manifests and the Compose file would run in containers, as commands for this machine: the same files, arguments and variables.

A container's image is stood in for by the program it holds, its mounts by folders with the same content, of which paths in arguments and
variables are made to speak.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests import components
from tests.collector.configurations import ROOT

Document = dict[str, Any]


@dataclass
class Part:
    """One container."""

    name: str
    image: str
    arguments: list[str]
    environment: dict[str, str]
    mounts: dict[str, Path]
    """Path in the container → folder or file of its content."""

    def command(self) -> list[str]:
        """What runs here instead."""
        program = [str(components.collector("gateway"))] if "collector" in self.image else [sys.executable, "-m", "rollscope_exporters.cli"]
        return [*program, *map(self.here, self.arguments)]

    def variables(self) -> dict[str, str]:
        """The container's variables."""
        return {name: self.here(text) for name, text in self.environment.items()}

    def here(self, text: str) -> str:
        """A path in the container as one of this machine; other text as it is."""
        places = "|".join(map(re.escape, sorted(self.mounts, key=len, reverse=True)))
        return re.sub(rf"(?<![\w/])({places})(?![\w.-])", lambda match: str(self.mounts[match[1]]), text)


def built(folder: str) -> list[Document]:
    """Every object that `kubectl kustomize` makes of a folder."""
    command = [str(components.checker("kustomize")), "build", str(ROOT / folder), "--load-restrictor", "LoadRestrictionsNone"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return list(yaml.safe_load_all(done.stdout))


def composed() -> Document:
    """The Compose file as Docker Compose's own loader understands it."""
    command = [str(components.checker("compose")), "-format", "json", "compose.yaml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)  # Docker Compose too takes paths from where the file lies
    assert done.returncode == 0, done.stderr
    found: Document = json.loads(done.stdout)
    return found


def parts_of_manifests(documents: list[Document], secrets: Mapping[str, Mapping[str, str]], folder: Path) -> Iterator[Part]:
    """Containers of all pods; `secrets` are what the cluster would hold, volumes without content become folders below `folder`."""
    maps = {document["metadata"]["name"]: document["data"] for document in documents if document["kind"] == "ConfigMap"}
    for document in documents:
        if document["kind"] not in ("DaemonSet", "StatefulSet", "Deployment"):
            continue
        name, pod = document["metadata"]["name"], document["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        contents = {volume["name"]: _content(volume, maps, secrets) for volume in pod["volumes"]}
        mounts = {}
        for mount in container["volumeMounts"]:
            place = folder / name / mount["name"]
            place.mkdir(parents=True)
            for file, text in contents.get(mount["name"], {}).items():
                (place / file).write_text(text, encoding="utf-8")
            mounts[mount["mountPath"]] = place
        environment = {entry["name"]: text for entry in container["env"] if (text := _value(entry, secrets)) is not None}
        yield Part(name, container["image"], container["args"], environment, mounts)


def _content(volume: Document, maps: Mapping[str, Mapping[str, str]], secrets: Mapping[str, Mapping[str, str]]) -> Mapping[str, str]:
    if "configMap" in volume:
        return maps[volume["configMap"]["name"]]
    if "secret" in volume:
        return secrets[volume["secret"]["secretName"]]
    sources = volume.get("projected", {}).get("sources", [])
    return {item["path"]: secrets[source["secret"]["name"]][item["key"]] for source in sources for item in source["secret"]["items"]}


def _value(entry: Document, secrets: Mapping[str, Mapping[str, str]]) -> str | None:
    if "valueFrom" not in entry:
        return str(entry["value"])
    wanted = entry["valueFrom"]["secretKeyRef"]
    found = secrets.get(wanted["name"], {}).get(wanted["key"])
    assert found is not None or wanted.get("optional"), f"no secret for {entry['name']}"
    return found


def parts_of_compose(project: Document, folder: Path) -> Iterator[Part]:
    """Containers of the Compose file that hold our programs."""
    for name in ("bridge", "gateway", "agent"):
        service = project["services"][name]
        mounts = {}
        for volume in service["volumes"]:
            place = Path(volume["source"]) if volume["type"] == "bind" else folder / name / volume["source"]
            if volume["type"] == "volume":
                place.mkdir(parents=True)
            mounts[volume["target"]] = place
        yield Part(name, service["image"], service["command"], service["environment"], mounts)
