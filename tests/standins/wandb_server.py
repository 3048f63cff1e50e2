"""A stand-in for W&B's hosted API, which no test can reach. It is not W&B.

It answers what wandb 0.31.0 was seen to ask (recorded against a server that wrote down every request: wandb_traffic.md beside this)
and keeps what it is sent, in the way the client relies on: lines of a file stream lie at their offsets, `UpsertBucket` and
`RunResumeStatus` tell how many there are, artifacts of one digest are one version. What it cannot show: limits, permissions, how the hosted
service stores history of equal steps, and how soon it counts lines.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

ENTITY = "team"
_OPERATION = re.compile(r"(?:query|mutation)\s+(\w+)")


@dataclass
class StoredRun:
    """One run as the server holds it."""

    project: str
    name: str
    display_name: str | None = None
    config: dict[str, Any] = field(default_factory=dict)
    tags: list[str] = field(default_factory=list)
    notes: str = ""
    group: str = ""
    job_type: str = ""
    lines: dict[str, list[str]] = field(default_factory=dict)
    """File of the stream → its lines."""
    files: dict[str, bytes] = field(default_factory=dict)
    announced: set[str] = field(default_factory=set)
    """Names of files for which an address was given out."""
    state: str = "running"

    @property
    def history(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines.get("wandb-history.jsonl", [])]

    @property
    def summary(self) -> dict[str, Any]:
        lines = self.lines.get("wandb-summary.json", [])
        return json.loads(lines[-1]) if lines else {}


@dataclass
class StoredArtifact:
    """One version of an artifact."""

    id: str
    name: str
    type: str
    digest: str
    client_id: str
    aliases: list[str]
    metadata: Any
    committed: bool = False
    files: dict[str, bytes] = field(default_factory=dict)
    manifest: dict[str, Any] = field(default_factory=dict)


class WandbServer:
    """Serves on a free loopback port between `start` and `stop`; `stop` and `start` again are an outage."""

    def __init__(self, api_key: str = "k" * 40) -> None:
        self.api_key = api_key
        self.runs: dict[str, StoredRun] = {}
        self.artifacts: list[StoredArtifact] = []
        self.requests: list[tuple[str, str]] = []
        """Method and path, with the operation for GraphQL."""
        self.unknown: list[str] = []
        """Operations it was asked for and does not know."""
        self.faults: dict[str, int] = {}
        """Part of a path → status it is answered with."""
        self.public_url = ""
        """Another name for it, behind a proxy."""
        self._lock = threading.RLock()
        self._server: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """Its address, as it also stands in the addresses it hands out."""
        return self.public_url or f"http://127.0.0.1:{self._port}"

    @property
    def port(self) -> int:
        return self._port

    def start(self) -> WandbServer:
        self._server = _Server(("127.0.0.1", self._port), self)
        self._port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server:
            self._server.gone = True
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def versions(self, name: str) -> list[StoredArtifact]:
        """Committed versions of an artifact."""
        return [artifact for artifact in self.artifacts if artifact.name == name and artifact.committed]

    def answer(self, method: str, path: str, body: bytes) -> tuple[int, Any]:
        """Status and JSON of one request."""
        with self._lock:
            for part, status in self.faults.items():
                if part in path:
                    return status, {"error": f"fault {status}"}
            if path == "/graphql":
                return self._graphql(json.loads(body))
            parts = [unquote(part) for part in path.strip("/").split("/")]
            if parts[0] == "files" and parts[-1] == "file_stream":
                return 200, self._file_stream(self.runs[parts[3]], json.loads(body))
            if parts[0] == "storage" and method == "PUT":
                self._store(parts[1], parts[2], "/".join(parts[3:]), body)
                return 200, {}
            return 404, {"error": f"unknown path {path}"}

    def _graphql(self, request: dict[str, Any]) -> tuple[int, Any]:
        found = _OPERATION.search(request["query"])
        name = found.group(1) if found else ""
        self.requests[-1] = ("GQL", name)
        handler = getattr(self, f"_on_{name}", None)
        if handler is None:
            self.unknown.append(name)
            return 400, {"errors": [{"message": f"unknown operation {name}"}]}
        return 200, {"data": handler(request.get("variables") or {})}

    def _file_stream(self, run: StoredRun, body: dict[str, Any]) -> dict[str, Any]:
        for name, chunk in body.get("files", {}).items():
            lines, offset = run.lines.setdefault(name, []), chunk["offset"]
            assert offset <= len(lines), f"a gap in {name}: {offset} after {len(lines)}"
            lines[offset : offset + len(chunk["content"])] = chunk["content"]
        if body.get("preempting"):
            run.state = "preempting"
        if body.get("complete"):
            code = body.get("exitcode", 0)
            run.state = "finished" if code == 0 else "preempted" if run.state == "preempting" else f"failed {code}"
        return {"exitcode": None, "limits": {}}

    def _store(self, kind: str, key: str, name: str, body: bytes) -> None:
        if kind == "run":
            self.runs[key].files[name] = body
        elif kind == "manifest":
            self._artifact(key).manifest = json.loads(body)
        else:
            self._artifact(key).files[name] = body

    def _artifact(self, id: str) -> StoredArtifact:
        return next(artifact for artifact in self.artifacts if artifact.id == id)

    def _on_Viewer(self, variables: dict[str, Any]) -> Any:
        return {
            "viewer": {"id": "U", "entity": ENTITY, "username": "user", "email": "user@example.com", "flags": "{}", "teams": {"edges": []}}
        }

    def _on_ServerFeaturesQuery(self, variables: dict[str, Any]) -> Any:
        return {"serverInfo": {"features": []}}

    def _on_UpsertBucket(self, variables: dict[str, Any]) -> Any:
        run = self.runs.setdefault(variables["name"], StoredRun(variables["project"], variables["name"]))
        if variables.get("displayName"):
            run.state = "running"
        for ours, theirs in {
            "display_name": "displayName",
            "notes": "notes",
            "group": "groupName",
            "job_type": "jobType",
            "tags": "tags",
        }.items():
            if variables.get(theirs) is not None:
                setattr(run, ours, variables[theirs])
        if variables.get("config"):
            run.config = {key: entry["value"] for key, entry in json.loads(variables["config"]).items()}
        return {"upsertBucket": {"bucket": self._bucket(run), "inserted": True}}

    def _bucket(self, run: StoredRun) -> dict[str, Any]:
        project = {"id": "P", "name": run.project, "entity": {"id": "E", "name": ENTITY}}
        return {
            "id": f"run:{run.name}",
            "name": run.name,
            "displayName": run.display_name,
            "project": project,
            "historyLineCount": len(run.history),
        }

    def _on_RunResumeStatus(self, variables: dict[str, Any]) -> Any:
        run = self.runs.get(variables["name"])
        if run is None:
            return {"model": {"id": "P", "name": variables["project"], "entity": {"id": "E", "name": ENTITY}, "bucket": None}}
        lines = run.lines.get("wandb-history.jsonl", [])
        bucket = {
            **self._bucket(run),
            "summaryMetrics": json.dumps(run.summary),
            "logLineCount": len(run.lines.get("output.log", [])),
            "eventsLineCount": len(run.lines.get("wandb-events.jsonl", [])),
            "historyTail": json.dumps(lines[-1:]),
            "eventsTail": json.dumps(run.lines.get("wandb-events.jsonl", [])[-1:]),
            "config": json.dumps({key: {"value": value} for key, value in run.config.items()}),
            "tags": run.tags,
            "notes": run.notes,
            "wandbConfig": json.dumps({"t": 1}),
        }
        return {"model": {"id": "P", "name": run.project, "entity": {"id": "E", "name": ENTITY}, "bucket": bucket}}

    def _on_RunFiles(self, variables: dict[str, Any]) -> Any:
        run = self.runs.get(variables["name"])
        found = [name for name in variables["files"] if run and name in run.announced]
        nodes = [{"name": name, "md5": _md5(run.files[name]) if run and name in run.files else "0"} for name in found]
        return {"model": {"bucket": {"files": {"edges": [{"node": node} for node in nodes]}} if run else None}}

    def _on_CreateRunFiles(self, variables: dict[str, Any]) -> Any:
        self.runs[variables["run"]].announced.update(variables["files"])
        files = [{"name": name, "uploadUrl": f"{self.url}/storage/run/{variables['run']}/{name}"} for name in variables["files"]]
        return {"createRunFiles": {"runID": f"run:{variables['run']}", "uploadHeaders": [], "files": files}}

    def _on_ArtifactType(self, variables: dict[str, Any]) -> Any:
        name = variables["name"].partition(":")[0]
        known = next((artifact for artifact in self.artifacts if artifact.name == name), None)
        return {"project": {"artifact": {"artifactType": {"name": known.type}} if known else None}}

    def _on_CreateArtifact(self, variables: dict[str, Any]) -> Any:
        given = variables["input"]
        name = given["artifactCollectionName"]
        same = [artifact for artifact in self.artifacts if (artifact.name, artifact.digest) == (name, given["digest"])]
        if not same:
            aliases = [alias["alias"] for alias in given.get("aliases") or []]
            made = StoredArtifact(
                f"A{len(self.artifacts)}",
                name,
                given["artifactTypeName"],
                given["digest"],
                given["clientID"],
                aliases,
                given.get("metadata"),
            )
            self.artifacts.append(made)
            same = [made]
        state = "COMMITTED" if same[0].committed else "PENDING"
        return {
            "createArtifact": {
                "artifact": {"id": same[0].id, "state": state, "artifactSequence": {"id": f"S-{name}", "latestArtifact": None}}
            }
        }

    def _manifest(self, variables: dict[str, Any], id: str) -> Any:
        return {
            "artifactManifest": {"id": id, "file": {"id": "F", "uploadUrl": f"{self.url}/storage/manifest/{id}/m", "uploadHeaders": []}}
        }

    def _on_CreateArtifactManifest(self, variables: dict[str, Any]) -> Any:
        return {"createArtifactManifest": self._manifest(variables, variables["artifactID"])}

    def _on_UpdateArtifactManifest(self, variables: dict[str, Any]) -> Any:
        return {"updateArtifactManifest": self._manifest(variables, variables["artifactManifestID"])}

    def _on_CreateArtifactFiles(self, variables: dict[str, Any]) -> Any:
        edges = [
            {
                "node": {
                    "storagePath": f"artifacts/{file['md5']}",
                    "uploadUrl": f"{self.url}/storage/artifact/{file['artifactID']}/{file['name']}",
                    "uploadHeaders": [],
                    "uploadMultipartUrls": None,
                    "artifact": {"id": file["artifactID"]},
                }
            }
            for file in variables["input"]["artifactFiles"]
        ]
        return {"createArtifactFiles": {"files": {"edges": edges}}}

    def _on_CommitArtifact(self, variables: dict[str, Any]) -> Any:
        artifact = self._artifact(variables["artifactID"])
        artifact.committed = True
        return {"commitArtifact": {"artifact": {"id": artifact.id, "digest": artifact.digest}}}

    def _on_ClientIDMapping(self, variables: dict[str, Any]) -> Any:
        known = next((artifact for artifact in self.artifacts if artifact.client_id == variables["clientID"]), None)
        return {"clientIDMapping": {"serverID": known.id} if known else None}


def _md5(content: bytes) -> str:
    return base64.b64encode(hashlib.md5(content, usedforsecurity=False).digest()).decode()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    gone = False
    """Whether connections that were open are cut, too."""

    def __init__(self, address: tuple[str, int], owner: WandbServer) -> None:
        self.owner = owner
        super().__init__(address, _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed resets its connections; anything else is a fault of ours or a gap in the stream."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            self.owner.unknown.append(repr(error))


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self._answer()

    def do_PUT(self) -> None:
        self._answer()

    def do_GET(self) -> None:
        self._answer()

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.server.gone:
            self.close_connection = True
            return
        path = urlsplit(self.path).path
        owner = self.server.owner
        if not path.startswith("/storage/") and not self._is_known(owner.api_key):
            status, answer = 401, {"errors": [{"message": "user is not logged in"}]}
        else:
            owner.requests.append((self.command, path))
            status, answer = owner.answer(self.command, path, body)
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _is_known(self, api_key: str) -> bool:
        expected = base64.b64encode(f"api:{api_key}".encode()).decode()
        return self.headers.get("Authorization") == f"Basic {expected}"
