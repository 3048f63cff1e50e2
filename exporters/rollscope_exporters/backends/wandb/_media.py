"""Files that rows refer to: sent again until the server was seen to have them.

The library uploads them beside the rows, and nothing but a line in its log says that one did not arrive: because its process was killed, or
the place that files go to was out of reach while rows were taken.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from ._client import Client
from ._files import RunFiles
from ._history import History
from ._server import Server

log = logging.getLogger("rollscope.wandb")


class Media:
    """Files of one run's rows; those of rows below `files.media_seen` are on the server."""

    def __init__(self, server: Server, files: RunFiles, history: History) -> None:
        self._server, self._files, self._history = server, files, history
        self._expected: list[tuple[int, str]] = []
        """Rows and names that the open client was given and that were not seen on the server."""

    def expect(self, number: int, names: list[str]) -> None:
        """The open client was given row `number` with these files."""
        self._expected += [(number, name) for name in names]

    def survey(self, project: str, run_id: str, rows: int) -> dict[str, Path]:
        """Name → place, out of all folders, of what the server, which has `rows` rows, lacks of their files. Raises `Unreachable`."""
        seen = self._files.media_seen
        places = self._history.media(seen, rows) if rows > seen else {}
        lacking = self._server.missing(project, run_id, list(places))
        for name in sorted(name for name in lacking if not places[name].exists()):
            log.error("%s: %s is neither on the server nor on the disk", run_id, name)
        found = {name: places[name] for name in lacking if places[name].exists()}
        if not found and rows > seen:
            self._files.keep_media_seen(rows)
        return found

    def send(self, client: Client, lacking: Mapping[str, Path]) -> None:
        """Send what `survey` found with the client that was opened."""
        self._expected = [(self._files.media_seen, name) for name in lacking]
        for name, place in lacking.items():
            client.attach(name, place)

    def lacking(self, project: str, run_id: str, rows: int) -> set[str]:
        """Files of the first `rows` rows that the server has not got. Raises `Unreachable`."""
        names = [name for number, name in self._expected if number < rows]
        lacking = self._server.missing(project, run_id, names)
        self._expected = [(number, name) for number, name in self._expected if number >= rows or name in lacking]
        if not lacking and rows > self._files.media_seen:
            self._files.keep_media_seen(rows)
        return lacking
