"""One mapped page per log that outlives its process: last sequence, segment numbers, and counts by reason."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from pathlib import Path
from typing import Final, Literal, NamedTuple

from ..descriptors import open_above
from ._format import LANES, PAGE
from ._mapping import map_file

Kind = Literal["dropped", "truncated", "failed", "deleted"]

_MAGIC: Final = int.from_bytes(b"RSCOPE\x00C", "little")
_LAST: Final = 1
_NUMBERS: Final = 2
_SLOT: Final = 64
_NAME: Final = _SLOT - 8
_SLOTS: Final = range(1, PAGE // _SLOT)
_OVERFLOW: Final = "other reasons"
_LAST_SLOTS: Final = {"deleted": _SLOTS[-4], "failed": _SLOTS[-3], "dropped": _SLOTS[-2], "truncated": _SLOTS[-1]}


class Counters(NamedTuple):
    """What a producer says of itself."""

    last_sequence: int
    dropped: dict[str, int]
    """Records by reason. Reasons that begin with `evicted` had a sequence number, all others had none."""
    truncated: dict[str, int]
    """Values by reason."""
    failed: dict[str, int]
    """Calls that recorded nothing because of what they were given, by reason."""
    deleted: int = 0
    """Highest number of a record that lay in a journal which was deleted under its process; 0 where none was."""


class CountersPage:
    """The writer's side. `words[LAST]` is stored by the journal itself, on its hot path."""

    LAST = _LAST

    def __init__(self, path: Path) -> None:
        fd = open_above(path, os.O_RDWR | os.O_CREAT)
        try:
            os.posix_fallocate(fd, 0, PAGE)
            self._map = map_file(fd, PAGE)
        finally:
            os.close(fd)
        self.words = memoryview(self._map).cast("Q")
        self._lock = threading.RLock()
        self._busy = False
        self._last = b""
        self._waiting: deque[tuple[str, int]] = deque()
        self._slots: dict[str, int] = {}
        if self.words[0] == _MAGIC:
            self._slots = {name: slot for slot, (name, _) in _slots(bytes(self._map)).items()}
        else:
            self._map[:] = bytes(PAGE)
            self.words[0] = _MAGIC

    def count(self, kind: Kind, reason: str, n: int = 1) -> None:
        """Add `n`; an interrupter in the same thread leaves its share to the call that it interrupted."""
        waiting = self._waiting
        with self._lock:
            waiting.append((f"{kind}:{reason}", n))
            if self._busy:
                return
            while waiting:
                self._busy = True
                try:
                    while waiting:
                        self._add(*waiting.popleft())
                finally:
                    self._busy = False

    def number(self, lane: int) -> int:
        """Return the highest segment number that was ever given out in `lane`."""
        return self.words[_NUMBERS + lane]

    def set_number(self, lane: int, number: int) -> None:
        """Remember `number`, so that it is never used again, not even when every segment is gone."""
        with contextlib.suppress(ValueError):  # closed
            self.words[_NUMBERS + lane] = number

    def read(self) -> Counters:
        """Return what the page holds now, or held when it was closed."""
        with contextlib.suppress(ValueError):
            self._last = bytes(self._map)
        return parse_counters(self._last)

    def content(self) -> bytes:
        """Return the page as it is now, or was when it was closed."""
        self.read()
        return self._last

    def flush(self) -> None:
        """Have the page written to disk."""
        self._map.flush()

    def close(self) -> None:
        """Let go of the map; later counts are lost."""
        self.read()
        self._lock = threading.RLock()
        with contextlib.suppress(ValueError):
            self.words.release()
            self._map.close()

    def _add(self, key: str, n: int) -> None:
        with contextlib.suppress(ValueError):  # closed: the page is gone
            slot = self._slots.get(key)
            if slot is None:
                slot = self._new_slot(key)
            self.words[slot * _SLOT >> 3] += n

    def _new_slot(self, key: str) -> int:
        free = len(self._slots) + 1
        kind = key.partition(":")[0]
        if free >= _LAST_SLOTS["deleted"]:
            free, key = _LAST_SLOTS[kind], f"{kind}:{_OVERFLOW}"
        name = key.encode("utf-8", "replace")[:_NAME]
        start = free * _SLOT + 8
        self._map[start : start + _NAME] = name.ljust(_NAME, b"\0")
        self._slots[key] = free
        return free


assert _NUMBERS + LANES <= _SLOT >> 3


def read_counters(path: Path) -> Counters:
    """Read another process's page; zero counts when it is missing or no page."""
    try:
        data = path.read_bytes()
    except OSError:
        data = b""
    return parse_counters(data)


def parse_counters(page: bytes) -> Counters:
    """Read a page's bytes; a damaged name is kept as far as it can be read."""
    counters = Counters(0, {}, {}, {})
    deleted: dict[str, int] = {}
    tables = {"truncated": counters.truncated, "failed": counters.failed, "deleted": deleted}
    if len(page) < PAGE or int.from_bytes(page[:8], "little") != _MAGIC:
        return counters
    for name, count in _slots(page).values():
        kind, _, reason = name.partition(":")
        table = tables.get(kind, counters.dropped)
        table[reason] = table.get(reason, 0) + count
    last = int.from_bytes(page[8 * _LAST : 8 * _LAST + 8], "little")
    return counters._replace(last_sequence=last, deleted=sum(deleted.values()))


def _slots(page: bytes) -> dict[int, tuple[str, int]]:
    slots: dict[int, tuple[str, int]] = {}
    if not page[_SLOT:].strip(b"\0"):  # as it is with most
        return slots
    for slot in _SLOTS:
        start = slot * _SLOT
        name = page[start + 8 : start + _SLOT].rstrip(b"\0").decode("utf-8", "replace")
        if name:
            slots[slot] = (name, int.from_bytes(page[start : start + 8], "little"))
    return slots
