"""A stand-in for SwanLab's server, hosted or private, for its client 0.10: no real server runs here.

It answers what the client asks for, as the client's own code reads the answers, and keeps what it is sent. What the client asks was
captured from the client and is kept in `swanlab_traffic.json`; a test compares that with what the client of today asks. What the real
server does with a value that comes twice is not known here, so the stand-in keeps every value it gets.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

KEY = "stand-in-key"
USER = "tester"


@dataclass
class Experiment:
    """One run as the server has it."""

    id: str
    project: str
    about: dict[str, Any]
    created: str
    profile: dict[str, Any] = field(default_factory=dict)
    scalars: list[dict[str, Any]] = field(default_factory=list)
    media: list[dict[str, Any]] = field(default_factory=list)
    states: list[str] = field(default_factory=lambda: ["RUNNING"])

    def summary(self) -> dict[str, Any]:
        """Last step of each key, which the client asks for before it goes on with a run."""

        def last(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
            steps: dict[str, int] = {}
            for point in points:
                steps[point["key"]] = max(steps.get(point["key"], -1), point["index"])
            return [{"key": key, "step": step} for key, step in steps.items()]

        return {"scalar": last(self.scalars), "media": last(self.media), "log": []}


class SwanlabServer:
    """The state of the stand-in; `requests` is every request as method, path and body."""

    def __init__(self) -> None:
        self.projects: set[str] = set()
        self.experiments: dict[str, Experiment] = {}
        self.columns: dict[str, list[dict[str, Any]]] = {}
        self.files: dict[str, bytes] = {}
        self.requests: list[tuple[str, str, Any]] = []
        self.refuse_key = False
        self.fail: str | None = None
        """Paths that match this answer 503."""
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _handle(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                with server.lock:
                    status, answer = server.answer(self.command, self.path, body, dict(self.headers))
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle

            def log_message(self, *arguments: object) -> None:
                """Keep quiet."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.host = f"http://127.0.0.1:{self._http.server_address[1]}"

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def answer(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> tuple[int, Any]:
        """Status and JSON for one request."""
        where = urlsplit(path)
        is_file = where.path.startswith("/files/")
        told = None if is_file or not body else json.loads(body)
        self.requests.append((method, where.path, body.decode("latin-1") if is_file else told))
        if self.fail and re.search(self.fail, where.path):
            return 503, {"code": "Unavailable", "message": "told to fail"}
        for verb, pattern, handler in self._routes():
            match = re.fullmatch(pattern, where.path)
            if verb == method and match:
                return handler(match, body if is_file else told, headers, parse_qs(where.query))
        return 404, {"code": "Not_Found", "message": f"the stand-in knows no {method} {where.path}"}

    def _routes(self) -> list[Any]:
        return [
            ("POST", r"/api/login/api_key", self._login),
            ("GET", r"/api/project/([^/]+)/([^/]+)", self._project),
            ("POST", r"/api/projects/([^/]+)", self._make_project),
            ("POST", r"/api/project/([^/]+)/([^/]+)/experiment", self._experiment),
            ("GET", r"/api/project/([^/]+)/([^/]+)/runs/([^/]+)", self._run),
            ("PUT", r"/api/project/([^/]+)/([^/]+)/runs/([^/]+)/profile", self._profile),
            ("PUT", r"/api/project/([^/]+)/([^/]+)/runs/([^/]+)/state", self._state),
            ("POST", r"/api/house/experiments/([^/]+)/heartbeat", lambda *_: (200, {})),
            ("GET", r"/api/house/metrics/summaries/([^/]+)/([^/]+)", self._summary),
            ("POST", r"/api/projects/([^/]+)/([^/]+)/series", self._series),
            ("POST", r"/api/house/metrics", self._metrics),
            ("POST", r"/api/resources/presigned/put", self._presigned),
            ("PUT", r"/files/(.+)", self._file),
        ]

    def _login(self, match: Any, told: Any, headers: dict[str, str], query: Any) -> tuple[int, Any]:
        key = {name.lower(): value for name, value in headers.items()}.get("authorization")
        if self.refuse_key or key != KEY:
            return 401, {"code": "Unauthorized", "message": "no such key"}
        return 200, {"sid": "session", "expiredAt": "2099-01-01T00:00:00.000Z", "userInfo": {"username": USER, "name": "Tester"}}

    def _project(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        user, name = match.groups()
        if name not in self.projects:
            return 404, {"code": "Not_Found", "message": "no such project"}
        count = sum(experiment.project == name for experiment in self.experiments.values())
        about = {"cuid": f"project-{name}", "name": name, "path": f"/{user}/{name}", "version": 1}
        return 200, {**about, "group": {"username": user, "type": "PERSON"}, "_count": {"experiments": count}}

    def _make_project(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        self.projects.add(told["name"])
        return 201, {"name": told["name"]}

    def _experiment(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        id = told["cuid"]
        is_new = id not in self.experiments
        if is_new:
            self.experiments[id] = Experiment(id, match[2], told, told["createdAt"])
        else:
            self.experiments[id].states.append("RUNNING")
        experiment = self.experiments[id]
        about = {"cuid": id, "slug": id, "name": experiment.about["name"], "createdAt": experiment.created}
        return (201 if is_new else 200), about

    def _run(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        experiment = self.experiments.get(match[3])
        if experiment is None:
            return 404, {"code": "Not_Found", "message": "no such run"}
        return 200, {"cuid": experiment.id, "name": experiment.about["name"], "createdAt": experiment.created}

    def _profile(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        self.experiments[match[3]].profile.update(told)
        return 200, {}

    def _state(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        self.experiments[match[3]].states.append(told["state"])
        return 200, {}

    def _summary(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        return 200, self.experiments[match[2]].summary()

    def _series(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        self.columns.setdefault(match[2], []).extend(told["series"])
        return 200, {}

    def _metrics(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        experiment = self.experiments[told["experimentId"]]
        if told["type"] == "scalar":
            experiment.scalars.extend(told["metrics"])
        elif told["type"] == "media":
            experiment.media.extend(told["metrics"])
        return 200, {}

    def _presigned(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        return 200, {"urls": [f"{self.host}/files/{told['experimentId']}/{path}" for path in told["paths"]]}

    def _file(self, match: Any, told: Any, headers: Any, query: Any) -> tuple[int, Any]:
        self.files[match[1]] = told
        return 200, {}


@contextmanager
def swanlab_server() -> Iterator[SwanlabServer]:
    """A stand-in on a free port of this machine."""
    server = SwanlabServer()
    try:
        yield server
    finally:
        server.close()


def shape(requests: list[tuple[str, str, Any]]) -> list[dict[str, Any]]:
    """What a kind of request looks like: method, path with its variable parts named, and the keys of its body; each kind once, sorted."""
    found = {json.dumps(_kind(*request), sort_keys=True) for request in requests}
    return [json.loads(kind) for kind in sorted(found)]


def _kind(method: str, path: str, body: Any) -> dict[str, Any]:
    path = re.sub(r"^/files/.*", "/files/*", path)
    path = re.sub(r"(/api/projects?/)[^/]+", r"\1{user}", path)
    path = re.sub(r"(/api/projects?/\{user\}/)(?=[^/])[^/]+", r"\1{project}", path)
    path = re.sub(r"(/runs/|/experiments/)[^/]+", r"\1{id}", path)
    path = re.sub(r"(/summaries/)[^/]+/[^/]+", r"\1{project}/{id}", path)
    kind: dict[str, Any] = {"method": method, "path": path}
    if isinstance(body, dict):
        kind["body"] = {key: _type(value) for key, value in sorted(body.items()) if key not in {"config", "metadata"}}
        if isinstance(body.get("metrics"), list):
            kind["type"] = body["type"]
            kind["metric"] = sorted({key for metric in body["metrics"] for key in metric})
    return kind


def _type(value: object) -> str:
    return type(value).__name__
