"""The writer of one log folder."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

from ..checksum import checksum
from ..files import sync_folder
from ..interruption import pass_on
from ._alive import AliveLock
from ._aside import MOMENT, MOMENTS, aside_size, holder, write_aside
from ._counters import Counters, CountersPage, Kind
from ._durable import sync_segments
from ._errors import BYTE_LIMIT, JournalError, cause
from ._filesystem import check_local
from ._format import FOLD, LANES, MAX_RECORD, encode_meta, require_little_endian
from ._held import END_FACTOR, Held, Place, release
from ._lane import Full, Lane
from ._recovery import recover
from ._segment import Segment
from ._space import Space
from ._supply import LANE_NAMES, LEAST, Supply, usual_capacity

FULL: Final = Full()


class Journal:
    """An append-only log of one process: three lanes of segments, mapped, so that what was appended survives `kill -9`.

    Thread-safe, and safe in a signal handler or finaliser that interrupts another append of the same thread. After a fork the
    child's copy is abandoned by itself: it refuses every record and leaves the parent's files alone.

    `meta` says whose log this is and is repeated in every segment. `limit` and `segment_bytes` are bytes; the latter holds for every
    segment, also where there is little room. With `fsync` finished segments stay at hand for `sync`. `keep_free`: bytes of the
    disk of which no segment is made. Raises `JournalError` when the folder cannot be used.
    """

    def __init__(
        self,
        folder: Path,
        *,
        meta: Mapping[str, object],
        limit: int = 4 << 30,
        segment_bytes: int | None = None,
        fsync: bool = False,
        keep_free: int = 0,
    ) -> None:
        require_little_endian()
        check_local(folder)
        self.folder = folder
        self._meta = encode_meta(meta)
        self._fsync = fsync
        self._closed = False
        self._syncing = threading.RLock()
        self._restoring = threading.RLock()
        self._asides_made = 0
        self._folder_synced = 0
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._alive = AliveLock(folder / "alive")
            self._counters = CountersPage(folder / "counters")
            past = recover(folder)
            self._space = Space(folder, limit)
            self._supply = Supply(folder, self._meta, self._space, self._counters, keep_free)
            self._held = Held(folder, self._meta, self._space, self.count)
        except OSError as error:
            raise JournalError(
                f"cannot keep a journal in {folder}: {error.strerror}. Set ROLLSCOPE_DIR to a writable local folder"
            ) from error
        self._sequence = max(past.last_sequence, self._counters.words[CountersPage.LAST])
        self._counters.words[CountersPage.LAST] = self._sequence
        self._page = self._counters.words
        self._asides = itertools.count(past.aside + 1)
        self._lanes = [
            Lane(
                lane,
                segment_bytes or usual_capacity(lane, limit),
                segment_bytes or LEAST,
                self._meta,
                max(past.numbers[lane], self._counters.number(lane)),
            )
            for lane in range(LANES)
        ]
        self._fill_box()
        self.hold: Callable[[bytes, int], Place | None] = self._held.put
        """Keep what began, in sight of readers, until an append is told that it is over. None when it was refused and counted; else what
        to give to that append. Never raises of itself."""
        _open_journals.add(self)

    @property
    def last_sequence(self) -> int:
        """Highest sequence given out; 0 before the first."""
        return self._sequence

    def append(self, payload: bytes, lane: int = 1, over: Place | None = None, check: int | None = None) -> int:
        """Record `payload` (not empty) in `lane`: 0 run records, 1 spans, 2 tokens.

        over: what `hold` returned for what this record ends; it is given back, whatever becomes of the record. check: `checksum(payload)`,
        where it is known.
        Returns the sequence (1, 2, …), -1 when it was refused and counted. Never raises of itself.
        """
        if check is None:
            check = checksum(payload)
        size = len(payload)
        try:
            # Whoever writes takes the segments out of the box and puts them back: a third of what a lock costs. A loop, as nothing can
            # come between its step and its target, not even a signal handler that raises.
            for current in self._take:
                try:
                    segment = current[lane]
                    at = segment.at
                    end = at + 2 + (size + 7 >> 3)
                    if end <= segment.room and size:
                        start = (at << 3) + 16
                        segment.bytes[start : start + size] = payload
                        # Nothing from here to the last store calls anything, and each line is one step to whoever interrupts: a number
                        # that was drawn is a record that was written.
                        words = segment.words
                        if over is None:
                            sequence = self._sequence = self._sequence + 1
                            words[at + 1] = sequence
                            words[at] = (check ^ sequence % FOLD) << 32 | size
                            segment.at = end
                            self._page[1] = sequence
                        else:
                            held, place, free, _, _ = over
                            held[place + 1] = (self._sequence + 1) * END_FACTOR
                            sequence = self._sequence = self._sequence + 1
                            words[at + 1] = sequence
                            words[at] = (check ^ sequence % FOLD) << 32 | size
                            segment.at = end
                            self._page[1] = sequence
                            held[place] = 0
                            free.append(over)
                        return sequence
                finally:
                    self._box.append(current)
                break
        except IndexError:
            return self._append_beside(payload, lane, over)
        except ValueError:
            # Abandoned under us, forked in a signal handler; or what this ends was held by a journal that is closed.
            return -1 if over is None or self._closed else self.append(payload, lane, None, check)
        del current  # `holder` looks at it
        return self._append_slowly(payload, lane, over)

    def count(self, kind: Kind, reason: str, n: int = 1) -> None:
        """Add `n` to the count of `reason` on the page that survives the process."""
        if not self._closed:
            self._counters.count(kind, reason, n)

    def counters(self) -> Counters:
        """Return the last sequence, dropped records and shortened values."""
        return self._counters.read()

    def refusal(self, lane: int) -> str:
        """Return why `lane` had no room lately (`disk full`, `byte limit`, …); empty where it has."""
        return self._lanes[lane].refusal()

    def stay_alive(self) -> None:
        """See to it that others know that the writer lives, also when its program closed all descriptors."""
        if not self._closed:
            self._alive.hold_on(self.folder / "alive")

    def deleted(self) -> bool:
        """Return whether somebody removed the folder: what is appended goes where nobody finds it."""
        return not self._closed and not self._alive.named(self.folder / "alive")

    def succeed(self) -> bytes:
        """Close a journal whose folder was deleted; return what `go_on` needs to go on behind the last number and with all counts."""
        self.close()
        return self._counters.content()

    @staticmethod
    def go_on(folder: Path, former: bytes) -> None:
        """Prepare `folder` for a journal that follows a deleted one: all numbers so far were that one's. Raises `OSError`."""
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "counters"
        path.write_bytes(former)
        page = CountersPage(path)
        known = page.read()
        page.count("deleted", "last sequence", known.last_sequence - known.deleted)
        page.close()

    def sync(self) -> None:
        """Return when everything appended before is on disk. Needs `fsync=True`; raises `JournalError` when the disk fails."""
        if not self._fsync:
            raise JournalError("this journal keeps finished segments only until they are full: open it with fsync=True to sync it")
        with self._syncing:
            if self._closed:
                raise JournalError(f"the journal in {self.folder} is closed")
            try:
                self._sync()
            except OSError as error:
                raise JournalError(f"cannot sync the journal in {self.folder}: {error.strerror}") from error

    def close(self) -> None:
        """Finish all segments and let readers see that the writer is gone."""
        with contextlib.ExitStack() as nobody_writes:
            nobody_writes.enter_context(self._syncing)
            for lane in self._lanes:
                nobody_writes.enter_context(lane.rolling)
            if self._closed:
                return
            taken = self._take_box()
            self._closed = True
            current = [*self._current]
            self._current[:] = [FULL] * LANES
            for lane, segment in zip(self._lanes, current, strict=True):
                if taken and not lane.busy:  # else we interrupt the thread that holds them
                    self._close_lane(lane, segment)
            self._held.close()
            self._counters.close()
            self._alive.close()

    def _close_lane(self, lane: Lane, segment: Segment | Full) -> None:
        if lane.drop_spare():  # before the end mark: no reader may be led to what is about to go
            self._counters.set_number(lane.lane, lane.number - 1)
        if isinstance(segment, Segment):
            segment.seal()
            lane.retired.append(segment)
        for retired in lane.retired if self._fsync else ():
            with contextlib.suppress(OSError):  # whoever needs to know has called `sync`
                retired.sync()
        lane.close_retired(self._space.cut)

    def abandon(self) -> None:
        """Forget the log without touching it: for a forked child, whose locks may be held by threads that it does not have."""
        if self._closed:
            return
        self._closed = True
        self._syncing = threading.RLock()
        self._restoring = threading.RLock()
        self._space.abandon()
        segments = [segment for segment in self._current if isinstance(segment, Segment)]
        self._fill_box()
        for lane in self._lanes:
            segments += lane.abandon()
        for segment in segments:
            segment.release()
        self._held.close()
        self._counters.close()
        self._alive.close()

    def _fill_box(self) -> None:
        self._current: list[Segment | Full] = [FULL] * LANES
        self._box: list[list[Segment | Full]] = [self._current]
        self._take: Iterator[list[Segment | Full]] = iter(self._box.pop, [])

    def _take_box(self) -> bool:
        """Take the segments for good; False when it is this thread itself that has them."""
        for _ in range(MOMENTS):
            with contextlib.suppress(IndexError):
                self._box.pop()
                return True
            if holder(self, _WRITING) == "me":
                break
            time.sleep(MOMENT)
        return False

    def _append_beside(self, payload: bytes, lane: int, over: Place | None) -> int:
        """The box is empty: another thread was stopped while it had the segments, or we interrupt our own."""
        holders = set()
        for _ in range(MOMENTS):
            if self._closed:
                return -1
            if self._box:
                return self.append(payload, lane, over)
            holders.add(found := holder(self, _WRITING))
            if found == "me":
                return self._append_aside(payload, lane, over)
            time.sleep(MOMENT)
        if holders != {"nobody"}:
            return self._append_aside(payload, lane, over)
        # Only a tracing debugger can raise between taking the segments and the `try` that puts them back.
        with self._restoring:
            if not self._box:
                self._box.append(self._current)
        return self.append(payload, lane, over)

    def _append_slowly(self, payload: bytes, lane: int, over: Place | None) -> int:
        """There is no room in the segment, or only room behind the mark at which a successor is due."""
        if self._closed:
            return -1
        if not 0 < len(payload) <= MAX_RECORD:
            return self._refuse(lane, "empty record" if not payload else "record too large", over)
        state = self._lanes[lane]
        with state.rolling:
            if state.busy:
                return self._append_aside(payload, lane, over)
            state.busy = True
            try:
                why = self._make_room(state, len(payload))
                if not self._fsync:
                    state.close_retired(self._space.cut)
            finally:
                state.busy = False
        return self._refuse(lane, why, over) if why else self.append(payload, lane, over)

    def _make_room(self, state: Lane, size: int) -> str:
        """See to it that a record of `size` bytes fits; returns why not, or nothing."""
        segment = self._current[state.lane]
        words = 2 + (size + 7 >> 3)
        if isinstance(segment, Segment) and segment.at + words <= segment.full:
            segment.open_up(segment.at + words)
            if state.spare is None and segment.at > segment.full * 3 // 4:
                # Others go on in the last quarter while this thread waits for the disk.
                state.spare = self._supply.ahead(state)
            return ""
        if state.spare is not None:
            spare, state.spare = state.spare, None
            fits = spare.at + words <= spare.full
            if (why := self._replace(state, spare)) or fits:
                return why
        made = self._supply.next(state, size, self._finished_below() if state.lane == 0 else {})
        return made if isinstance(made, str) else self._replace(state, made)

    def _finished_below(self) -> dict[int, int]:
        """Return, by lane, the number of the segment in use; where there is none, the last one, which may be just becoming that."""
        return {
            lane.lane: segment.number if isinstance(segment := self._current[lane.lane], Segment) else lane.number for lane in self._lanes
        }

    def _replace(self, state: Lane, segment: Segment) -> str:
        """Let `segment` follow the current one; returns why not, or nothing."""
        for _ in range(MOMENTS):
            try:
                for current in self._take:
                    try:
                        old = current[state.lane]
                        if isinstance(old, Segment):
                            old.seal()
                            state.retired.append(old)
                        current[state.lane] = segment
                        return ""
                    finally:
                        self._box.append(current)
            except IndexError:
                time.sleep(MOMENT)
        segment.release()
        return "closing"

    def _append_aside(self, payload: bytes, lane: int, over: Place | None) -> int:
        if self._closed:
            return -1
        try:
            with self._space.being_made(lane, aside_size(self._meta, payload)) as there_is_room:
                if not there_is_room:
                    return self._refuse(lane, BYTE_LIMIT, over)
                sequence = write_aside(
                    self.folder, lane, next(self._asides), self._meta, payload, lambda: self._draw(over), fsync=self._fsync
                )
        except OSError as error:
            pass_on(error)
            return self._refuse(lane, cause(error), over)
        except ValueError as error:  # closed meanwhile
            pass_on(error)
            return -1
        self._asides_made += 1
        if over is not None:
            release(over)
        return sequence

    def _draw(self, over: Place | None) -> int:
        sequence = self._sequence = self._sequence + 1
        if over is not None:
            over[0][over[1] + 1] = sequence * END_FACTOR
        self._page[1] = sequence
        return sequence

    def _refuse(self, lane: int, why: str, over: Place | None) -> int:
        self.count("dropped", f"refused {LANE_NAMES[lane]}: {why}")
        if over is not None:
            release(over)
        return -1

    def _sync(self) -> None:
        made = self._supply.made + self._asides_made
        sync_segments([*self._current], self._lanes, self._space.cut)
        if made != self._folder_synced:
            self._counters.flush()
            sync_folder(self.folder)
            self._folder_synced = made


_WRITING: Final = frozenset({Journal.append.__code__, Journal._replace.__code__})


_open_journals: weakref.WeakSet[Journal] = weakref.WeakSet()


def _abandon_all() -> None:
    for journal in list(_open_journals):
        journal.abandon()


os.register_at_fork(after_in_child=_abandon_all)
