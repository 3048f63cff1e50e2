"""The points of a run, each logged once, in the folder that has them all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from .._protocol import UnavailableError
from ._client import Client, LibraryMode
from ._compat import forget_locally
from ._history import History
from ._identity import Identity
from ._points import HIGHEST_STEP, Media, Point
from ._seen import Seen
from ._server import Server

REPEATED = "a value of this metric and step is there already"
OUT_OF_RANGE = "steps below 0 or above 2^48"
REFUSED = "not taken by SwanLab's client"
TOO_LARGE = "texts and tables of more than 10 MiB"
_LIBRARY: dict[str, LibraryMode] = {"cloud": "online", "local": "local"}
_PARTS = 9
"""Tables or digests of one name and step."""


class PointLog:
    """`logged` is how many points of each kind the last checkpoint vouched for; `leave_out` is told of a reason and a number."""

    def __init__(
        self,
        mode: str,
        server: Server,
        root: Path,
        run_id: str,
        identity: Callable[[], Identity],
        leave_out: Callable[[str, int], None],
        logged: Mapping[str, int],
    ) -> None:
        self._mode, self._server, self._root, self._identity, self._leave_out = mode, server, root, identity, leave_out
        self._history = History(root, run_id)
        self._client: Client | None = None
        self._seen = Seen()
        self._written: list[tuple[str, int]] = []
        """Logged since the batch began."""
        self._unconfirmed: dict[tuple[str, int], str] = {}
        self.logged = dict(logged)

    @property
    def is_open(self) -> bool:
        """Whether a folder is open for writing."""
        return self._client is not None

    def begin_batch(self) -> None:
        """From here on, what is logged can come again."""
        self._written = []

    def expect_batch_again(self) -> None:
        """The batch failed: what was logged of it will come again, and is no repetition then."""
        for key, step in self._written:
            self._seen.expect(key, step)

    def add(self, points: Iterable[Point]) -> None:
        """Log those of `points` that are not there yet. Raises `UnavailableError`."""
        new = [placed for point in points if (placed := self._placed(point)) is not None]
        if new:
            self.open().log(new)

    def open(self) -> Client:
        """Return the client, with every point of older folders in its own. Raises `UnavailableError`."""
        if self._client is None:
            old = self._history.folders
            if self._mode == "local":
                forget_locally(self._root, old)
            client = Client(_LIBRARY.get(self._mode, "offline"), self._server, self._history.new_folder(), self._identity())
            self._seen = Seen()
            client.log(self._again(old))
            copied = client.flush()
            self._client = client
            if self._mode != "cloud" and len(copied) == sum(self.logged.values()):
                self._history.remove(old)
        return self._client

    def confirm(self) -> None:
        """Make everything durable, and see that what was logged is in the file: the library refuses without a word."""
        if self._client is None:
            return
        found = self._client.flush()
        for place, kind in self._unconfirmed.items():
            if place in found:
                self.logged[kind] = self.logged.get(kind, 0) + 1
            else:
                self._leave_out(REFUSED, 1)
        self._unconfirmed.clear()

    def finish(self, status: str, error: str, seconds: float) -> None:
        """End the open folder. Raises `UnavailableError` when that takes longer than `seconds`."""
        client, self._client = self._client, None
        assert client
        try:
            client.finish(status, error, seconds)
        except TimeoutError as failure:
            raise UnavailableError(f"{failure}; SwanLab at {self._server.api_host} does not take the end of the run") from failure

    def _placed(self, point: Point) -> Point | None:
        """`point` where it can be logged; None when it is there already, or never can be."""
        if not 0 <= point.step <= HIGHEST_STEP:
            self._leave_out(OUT_OF_RANGE, 1)
            return None
        self.open()
        kind, parts, stubs = "scalar", 1, 0
        if isinstance(point.value, Media):
            kind, parts, stubs = "media", _PARTS, sum(item.is_stub for item in point.value.items)
        for part in range(1, parts + 1):
            key = point.key if part == 1 else f"{point.key}/{part}"
            if not self._seen.has(key, point.step):
                self._seen.add(key, point.step)
                self._written.append((key, point.step))
                self._unconfirmed[key, point.step] = kind
                self._leave_out(TOO_LARGE, stubs)
                return point._replace(key=key)
            if self._seen.comes_again(key, point.step):
                return None
        self._leave_out(REPEATED, 1)
        return None

    def _again(self, folders: list[Path]) -> Iterable[Point]:
        """Points of `folders`, each once; those behind the last checkpoint are expected from us again."""
        before, counted = self.logged, {"scalar": 0, "media": 0}
        for point in self._history.points(folders):
            if self._seen.has(point.key, point.step):
                continue
            kind = "media" if isinstance(point.value, Media) else "scalar"
            counted[kind] += 1
            (self._seen.add if counted[kind] <= before.get(kind, 0) else self._seen.expect)(point.key, point.step)
            yield point
        self.logged = counted
