"""`python -m rollscope_exporters.backends.swanlab._sync`: upload what is new of a run's folder, with its own times, late steps too.

What is new is copied into a folder that has nothing else, and `swanlab.sync` brings that to the server under the run's id, with its guard
against old steps lifted. When a process died in between, nobody knows what arrived; the guard then stays on, so nothing is doubled.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from rollscope.files import replace_file

from ...child import begin
from .._protocol import UnavailableError
from ._client import INTERRUPTED, Client, settings_of
from ._compat import confirmed_sync
from ._history import History
from ._identity import Identity
from ._points import Media, Point
from ._server import Server

_FAR = 4_102_444_800.0
"""A time (Unix, s) that no record has."""


class Uploaded(msgspec.Struct):
    """Content of `uploaded.json`: what the server has."""

    scalar: int = 0
    media: int = 0
    created: bool = False
    ended: bool = False
    under_way: bool = False
    """A round began of which nobody knows how it ended."""


class Sync:
    """Uploads of one run below `root`."""

    def __init__(self, root: Path, run_id: str, server: Server) -> None:
        self._server, self._run_id = server, run_id
        self._history = History(root, run_id)
        self._own = root / ".rollscope" / run_id
        self._path = self._own / "uploaded.json"
        self._counted = {"scalar": 0, "media": 0}

    def round(self, *, final: bool) -> None:
        """Upload what is new. Raises `UnavailableError`, and RuntimeError with the library's own words."""
        done = self._read()
        end = self._history.end() if final else None
        points = list(self._new(done))
        if not points and done.created and not end:
            return
        self._server.check()
        self._own.mkdir(parents=True, exist_ok=True)
        scratch = self._own / "upload"
        shutil.rmtree(scratch, ignore_errors=True)
        identity = self._identity()
        client = Client("offline", self._server, History(scratch, self._run_id).new_folder(), identity)
        client.log(points)
        client.flush()
        if end and end.error != INTERRUPTED:
            client.finish(end.state, end.error, 60)
        self._send(client.folder, identity, done, has_end=end is not None)
        self._write(Uploaded(self._counted["scalar"], self._counted["media"], created=True, ended=end is not None))
        shutil.rmtree(scratch, ignore_errors=True)

    def _send(self, folder: Path, identity: Identity, done: Uploaded, *, has_end: bool) -> None:
        import swanlab

        project = swanlab.Settings.Project(name=identity.project, workspace=self._server.workspace or None)
        settings = settings_of(self._server, project=project, run=swanlab.Settings.Run(id=self._run_id))
        if not done.created and not has_end:
            confirmed_sync(folder, settings, None, _FAR)  # a run that is new and has no end is shown as crashed; from now on it is not new
        doubtful = done.under_way
        done.created = done.under_way = True
        self._write(done)
        confirmed_sync(folder, settings, None if doubtful else 0)

    def _new(self, done: Uploaded) -> Iterator[Point]:
        seen: set[tuple[str, int]] = set()
        for point in self._history.points(self._history.folders):
            if (point.key, point.step) in seen:
                continue
            seen.add((point.key, point.step))
            kind = "media" if isinstance(point.value, Media) else "scalar"
            self._counted[kind] += 1
            if self._counted[kind] > getattr(done, kind):
                yield point

    def _identity(self) -> Identity:
        start = self._history.start()
        names = ("name", "project", "group", "job_type", "description")
        return Identity(id=self._run_id, **{name: start.get(name, "") for name in names}, tags=start.get("tags", []), config=self._config())

    def _config(self) -> dict[str, object]:
        import yaml

        path = self._history.folders[-1] / "files" / "config.yaml"
        held: Mapping[str, Any] = (yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else None) or {}
        return {key: entry["value"] for key, entry in held.items()}

    def _read(self) -> Uploaded:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Uploaded)
        except FileNotFoundError:
            return Uploaded()

    def _write(self, done: Uploaded) -> None:
        replace_file(self._path, msgspec.json.encode(done))


def _main() -> int:
    request = json.loads(sys.stdin.buffer.readline())
    begin(0.0, supervised=True)  # the parent holds the other end of our standard input and never writes again
    server = Server(request["api_host"], request["web_host"], request["workspace"], request["api_key"])
    try:
        Sync(Path(request["root"]), request["run"], server).round(final=request["final"])
    except (UnavailableError, RuntimeError, OSError) as error:
        print(f"{type(error).__name__}: {error}", flush=True)
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)  # the library's threads may wait for a server


if __name__ == "__main__":
    sys.exit(_main())
