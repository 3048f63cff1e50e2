"""The reader of one log folder."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from ._acked import Acked, write_acked
from ._counters import Counters, read_counters
from ._cursor import Cursor, Entry
from ._format import LANES, Position, aside_name, read_header, segment_name
from ._held import held_files, read_held
from ._log import Log
from ._pending import Pending


class LogReader:
    """Reads a log by lanes, while it is written or after its writer died. Not thread-safe; one reader acknowledges a log.

    Starts at `positions` per lane, by default where the last reader acknowledged. Bytes that are no record any more are skipped and
    counted in `damaged`: `header`, `checksum`, `torn`, `segment removed`, `beginning`.
    """

    def __init__(self, folder: Path, positions: Mapping[int, Position] | None = None, *, patience: float = 0.0) -> None:
        """`patience`: seconds for which a writer that was found alive is not looked for again: for who reads many logs."""
        self.folder = folder
        self._log = Log(folder, patience)
        start = {lane: state.position for lane, state in self._log.acked.items()} if positions is None else positions
        self._cursors = [Cursor(self._log, lane, Position(*start.get(lane, Position(0, 0)))) for lane in range(LANES)]
        self._returned: dict[int, Position] = {}
        self._pending = Pending(folder)
        self._meta: dict[str, object] = {}

    @property
    def damaged(self) -> dict[str, int]:
        """Places that could not be read, by reason."""
        return dict(self._log.damaged)

    def read(self, lane: int, max_bytes: int) -> list[Entry]:
        """Return the next records of `lane`, about `max_bytes` of payload but at least one; empty when there is nothing new now."""
        entries = self._cursors[lane].read(max_bytes)
        if entries:
            self._returned[lane] = entries[-1].end
        return entries

    def position(self, lane: int) -> Position:
        """Return where the next `read` of `lane` begins."""
        return self._cursors[lane].position

    def rewind(self, lane: int, position: Position) -> None:
        """Let the next `read` of `lane` begin at `position`."""
        self._cursors[lane].close()
        self._cursors[lane] = Cursor(self._log, lane, position)
        self._returned.pop(lane, None)

    def meta(self) -> dict[str, object]:
        """Return what the writer said of itself; empty while no segment can be read."""
        if not self._meta:
            self._log.listing.refresh()
            names = (segment_name(lane, number) for lane in range(LANES) for number in self._log.listing.numbers(lane))
            asides = (aside_name(lane, number) for lane in range(LANES) for number in self._log.listing.asides(lane))
            files = itertools.chain((self.folder / name for name in itertools.chain(names, asides)), held_files(self.folder))
            self._meta = next(filter(None, map(_read_meta, files)), {})
        return self._meta

    def alive(self) -> bool:
        """Return whether the writer lives."""
        return self._log.alive()

    def counters(self) -> Counters:
        """Return the writer's counts, also after its death."""
        return read_counters(self.folder / "counters")

    def held(self) -> list[bytes]:
        """Return the records of what began and is not over, in no order. Of a log that is written, as it was a moment ago.

        Of a log whose writer died: read all of it before, as what is over may say so in its last record.
        """
        known = max(self.counters().last_sequence, self.acknowledged(), *(cursor.sequence for cursor in self._cursors))
        files = [read_held(path) for path in held_files(self.folder)]
        if (damaged := sum(file.damaged for file in files)) and not self.alive():
            self._log.damaged["beginning"] = damaged
        return [record for file in files for record, end in file.records if not 0 < end <= known]

    def acknowledged(self) -> int:
        """Return records acknowledged so far, over all lanes."""
        return sum(state.records for state in self._log.acked.values())

    def acknowledge(self, lane: int, position: Position, count: int) -> None:
        """Remember that the `count` records before `position` need not be read again, and delete segments that hold no others.

        Raises `OSError` when it cannot be remembered.
        """
        self.acknowledge_lanes({lane: (position, count)})

    def acknowledge_lanes(self, reached: Mapping[int, tuple[Position, int]]) -> None:
        """Acknowledge several lanes at once: (position, count) by lane. Raises `OSError` when it cannot be remembered."""
        acked = dict(self._log.acked)
        passed: dict[int, Position] = {}
        for lane, (position, count) in reached.items():
            if position == self._returned.get(lane):
                position = self._returned[lane] = self._cursors[lane].skip_end(position)
            before = acked.get(lane, Acked(Position(0, 0), 0))
            acked[lane] = Acked(position, before.records + count)
            if (position.number, position.aside) != (before.position.number, before.position.aside):
                passed[lane] = position
        write_acked(self.folder, acked)
        self._log.acked = acked  # only now: what could not be remembered will be acknowledged again
        for lane, position in passed.items():
            self._delete_before(lane, position)

    def pending_bytes(self) -> int:
        """Return bytes that were written and not acknowledged, as far as they can still be read."""
        self._log.listing.refresh()
        return sum(self._pending.of_lane(lane, self._settled(lane), self._log.listing) for lane in range(LANES))

    def drained(self) -> bool:
        """Return whether everything that was written has been acknowledged."""
        return self.pending_bytes() == 0

    def close(self) -> None:
        """Close the files."""
        for cursor in self._cursors:
            cursor.close()

    def _settled(self, lane: int) -> Position:
        """Return what was acknowledged, and what was skipped behind it because it held no record."""
        acked = self._log.acked.get(lane, Acked(Position(0, 0), 0)).position
        return self._cursors[lane].position if self._returned.get(lane, acked) == acked else acked

    def _delete_before(self, lane: int, position: Position) -> None:
        self._log.listing.refresh()
        gone = [segment_name(lane, number) for number in self._log.listing.numbers(lane) if number < position.number]
        gone += [aside_name(lane, number) for number in self._log.listing.asides(lane) if number <= position.aside]
        for name in gone:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(self.folder / name)


def list_logs(root: Path) -> list[Path]:
    """Log folders directly below `root`, sorted; empty when `root` does not exist."""
    with contextlib.suppress(FileNotFoundError):
        return sorted(path.parent for path in root.glob("*/alive"))
    return []


def _read_meta(path: Path) -> dict[str, object]:
    with contextlib.suppress(OSError, msgspec.DecodeError):
        fd = os.open(path, os.O_RDONLY)
        try:
            header = read_header(fd)
        finally:
            os.close(fd)
        if header is not None:
            return msgspec.msgpack.decode(header.meta, type=dict[str, object])
    return {}
