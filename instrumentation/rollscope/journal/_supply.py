"""Where a lane's next segment comes from: the byte limit, the disk, and what may be pushed out for it."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ..files import disk
from ..interruption import pass_on
from ._counters import CountersPage
from ._errors import BYTE_LIMIT, DISK_FULL, cause
from ._format import PAGE
from ._lane import Lane
from ._segment import Segment
from ._space import Space

LANE_NAMES: Final = ("run records", "spans", "tokens")
_USUAL: Final = (4 << 20, 4 << 20, 8 << 20)
_NO_ROOM: Final = frozenset({BYTE_LIMIT, DISK_FULL})
"""Refusals that removing something may help against."""
LEAST: Final = 256 << 10
"""Bytes of a segment where the usual one has no room."""


def usual_capacity(lane: int, limit: int) -> int:
    """Return bytes of a segment. A small limit gets small ones, so that each lane can have some."""
    return max(PAGE * 4, min(_USUAL[lane], limit // 32 // PAGE * PAGE))


class Supply:
    """Makes segments of one log. Whoever asks for a lane's holds its `rolling`."""

    def __init__(self, folder: Path, meta: bytes, space: Space, counters: CountersPage, keep_free: int) -> None:
        self._folder = folder
        self._meta = meta
        self._space = space
        self._counters = counters
        self._keep_free = keep_free
        self.made = 0
        """Files made so far: their folder has to be synced as well."""

    def ahead(self, lane: Lane) -> Segment | None:
        """Make a successor before it is needed, if there is room: nothing is pushed out for it, and a failure is not yet a refusal."""
        made = self._try(lane, lane.capacity(0))
        return None if isinstance(made, str) else made

    def next(self, lane: Lane, size: int, finished_below: Mapping[int, int]) -> Segment | str:
        """Make a segment for a record of `size` bytes, or say why not.

        Where the usual one cannot be made, a small one is tried. Run records then push out others.
        finished_below: by lane, a number; segments with lower ones are not written to any more.
        """
        if why := lane.refusal():
            return why
        made = self._make(lane, size)
        if lane.lane == 0 and made in _NO_ROOM:
            made = self._push_out(lane, size, finished_below, made)
        return lane.refuse(made) if isinstance(made, str) else made

    def _make(self, lane: Lane, size: int) -> Segment | str:
        usual, least = lane.capacity(size), lane.least(size)
        made = self._try(lane, usual)
        return self._try(lane, least) if isinstance(made, str) and least < usual else made

    def _push_out(self, lane: Lane, size: int, finished_below: Mapping[int, int], made: Segment | str) -> Segment | str:
        """Remove tokens, then spans, until a segment can be made; on a full disk, where others may take what is freed, only as much."""
        victims = [victim for victim in self._space.victims() if victim.number < finished_below[victim.lane]]
        needed, freed = lane.least(size), 0
        if needed > self._free() + sum(victim.size for victim in victims) or needed > self._space.limit:
            return made
        for victim in victims:
            if made == DISK_FULL and freed >= needed:
                break
            # Counted first: who is killed in between has said too much rather than too little.
            self._counters.count("dropped", f"evicted {LANE_NAMES[victim.lane]}", victim.unsent())
            victim.remove()
            freed += victim.size
            made = self._make(lane, size)
            if made not in _NO_ROOM:
                break
        return made

    def _free(self) -> int:
        try:
            return disk(self._folder).free
        except OSError:
            return 0

    def _try(self, lane: Lane, capacity: int) -> Segment | str:
        try:
            with self._space.being_made(lane.lane, capacity) as there_is_room:
                return self._create(lane, capacity) if there_is_room else BYTE_LIMIT
        except OSError as error:
            pass_on(error)
            return cause(error)

    def _create(self, lane: Lane, capacity: int) -> Segment:
        if self._keep_free and disk(self._folder).free < capacity + self._keep_free:
            raise OSError(errno.ENOSPC, "what is free is kept for others")
        segment = Segment.create(self._folder, lane.lane, lane.number + 1, capacity, self._meta)
        lane.number += 1
        self._counters.set_number(lane.lane, lane.number)
        self.made += 1
        return segment
