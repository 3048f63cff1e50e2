"""How far a worker is, kept on disk: the only truth about what its backend has."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from rollscope.files import replace_file

from ..positions import FILE, SetAside
from ._feed import Passing
from ._folders import SET_ASIDE_FILE
from ._left_out import LeftOutFile, Mark
from ._memory import Memory

NAMED = 10_000
"""Set-aside records named in the position file; further ones are counted in `left_out`."""
KEPT_BYTES = 64 << 20
"""Size of the file of set-aside records above which no more are kept, only named."""
UNNAMED = "set aside, no longer named"


class Position(msgspec.Struct, kw_only=True):
    """Content of `position.json`."""

    position: int = 0
    """Outbox id up to which everything is delivered, set aside or left out."""
    parts: int = 0
    """Of the row behind it, the records it became that are delivered or set aside too: a row may become several."""
    memory: bytes = b""
    """What the configuration's shaping has to remember: open windows of metrics, the sample (msgpack)."""
    left_out_ids: Mark = Mark()
    """How much of the files of trajectories left out counts."""
    state: dict[str, Any] = {}
    """What the backend's `checkpoint` returned last."""
    signals: list[str] = []
    """What is routed to this worker."""
    per_run: bool = False
    set_aside: list[SetAside] = []
    left_out: dict[str, dict[str, int]] = {}
    """Records the configuration or the backend left out or made others of: reason → run → number."""


class PositionFile:
    """The position of one worker and the records it set aside."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._kept = folder / SET_ASIDE_FILE
        self.current = self._read()
        self._saved = b""
        self._expected: deque[Passing] = deque()
        self._memory: Memory | None = None
        self._ids: LeftOutFile | None = None
        self._remembers = False

    def _read(self) -> Position:
        try:
            return msgspec.json.decode(self._path.read_bytes(), type=Position)
        except FileNotFoundError:
            return Position()
        except msgspec.DecodeError as error:
            raise ValueError(f"{self._path} is no position file ({error}); restore it, or delete it to deliver everything again") from None

    def remember_with(self, memory: Memory, ids: LeftOutFile) -> None:
        """Keep `memory`, which follows the position, and what it tells `ids`."""
        self._memory, self._ids = memory, ids

    def save(self) -> None:
        """Make the position durable; nothing is written when nothing changed. Raises OSError."""
        if self._remembers and self._memory and self._ids:
            self.current.left_out_ids = self._ids.flush()
            self.current.memory = self._memory.state()
            self._remembers = False
        content = msgspec.json.encode(self.current)
        if content != self._saved:
            replace_file(self._path, content, durable=True)
            self._saved = content

    def set_aside(self, entry: SetAside, record: object) -> None:
        """Name `entry` in the position and keep the record itself as a JSON line, within bounds."""
        if any((known.id, known.what) == (entry.id, entry.what) for known in self.current.set_aside[-NAMED:]):
            return  # set aside before a crash, kept already
        if len(self.current.set_aside) >= NAMED:
            self._count(entry.run, UNNAMED)
            return
        self.current.set_aside.append(entry)
        if not self._kept.exists() or self._kept.stat().st_size < KEPT_BYTES:
            line = _line(entry, record)
            with open(self._kept, "ab") as file:
                file.write(line + b"\n")
                file.flush()
                os.fsync(file.fileno())

    def expect(self, passing: Iterable[Passing]) -> None:
        """Tell what is to happen when the position passes rows, in their order."""
        self._expected = deque(passing)

    def advance(self, upto: int, parts: int = 0) -> None:
        """Move the position, in memory, unless it is there already."""
        if (upto, parts) <= (self.current.position, self.current.parts):
            return
        self.current.position, self.current.parts = upto, parts
        while self._expected and self._expected[0].id <= upto:
            self._passed(self._expected.popleft())

    def _passed(self, row: Passing) -> None:
        if row.reason:
            self._count(row.run, row.reason)
        if row.record is not None and self._memory:
            self._memory.take(row.record)
            self._remembers = True

    def checkpointed(self, state: dict[str, Any]) -> None:
        """Take the backend's state, in memory; what it left out itself joins what the configuration did.

        Raises `TypeError` for a state that is no JSON.
        """
        msgspec.json.encode(state)
        self.current.state = state
        for reason, runs in state.get("left_out", {}).items():
            self.current.left_out[reason] = runs if isinstance(runs, dict) else {"": runs}

    def _count(self, run: str, reason: str) -> None:
        runs = self.current.left_out.setdefault(reason, {})
        runs[run] = runs.get(run, 0) + 1


def _line(entry: SetAside, record: object) -> bytes:
    """Encode a record for people to look at; one that JSON cannot hold is described."""
    about = {"id": entry.id, "run": entry.run, "reason": entry.reason}
    try:
        return msgspec.json.encode({**about, "record": record})
    except (TypeError, ValueError, RecursionError):
        return msgspec.json.encode({**about, "record": ascii(record)})
