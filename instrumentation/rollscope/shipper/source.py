"""One producer's log as the shipper reads it: portions of what is new, and how far the peer has it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import NamedTuple

from ..journal import LANES as _LANES
from ..journal import LogReader, Position
from .open_spans import OpenSpans
from .otlp import Item
from .otlp.tokens import Texts
from .producer import Producer
from .redactors import Redactors
from .state import Remembered
from .translation import Translation
from .vitals import FRESH, Vitals

LANES = tuple(range(_LANES))


class Portion(NamedTuple):
    """What was read of one lane of one log, to be acknowledged when it is delivered."""

    source: Source
    lane: int
    end: Position
    records: int
    items: list[Item]
    lost: Counter[str]
    """Records left behind up to its end, by reason; they count when it is delivered."""
    replaced: Counter[str]
    """Values redacted in it, likewise."""


class Source:
    """Reads one log, lane by lane. Around it: its `producer`, the `translation` into items, its `open_spans` and `vitals`."""

    def __init__(self, folder: Path, texts: Texts, remembered: Remembered | None, redactors: Redactors, *, derive: bool) -> None:
        self.folder = folder
        self._reader = LogReader(folder, patience=FRESH)
        self.producer = Producer(self._reader, remembered)
        self.translation = Translation(self.producer, texts, redactors, derive=derive)
        self.open_spans = OpenSpans(self._reader, self.producer, self.translation)
        self.vitals = Vitals(self._reader, self.producer, self.translation, self.open_spans)
        self._derive = derive
        self._delivered: dict[int, tuple[Position, int]] = {}
        self._positions = {lane: self._reader.position(lane) for lane in LANES}
        self._drained = dict.fromkeys(LANES, False)
        self._on_their_way = dict.fromkeys(LANES, 0)

    def read(self, lane: int, max_bytes: int) -> Portion | None:
        """Return the next records of `lane` as items; None when there are none now."""
        damaged = Counter(self._reader.damaged)
        entries = self._reader.read(lane, max_bytes)
        damage = Counter(self._reader.damaged) - damaged
        self._drained[lane] = not entries
        if not entries and not damage:
            return None
        lost = Counter({f"damaged: {reason}": places for reason, places in damage.items()})
        before = self.translation.replaced()
        items = [item for entry in entries for item in self.translation.items(entry, lost)]
        replaced = self.translation.replaced() - before
        end = entries[-1].end if entries else self._reader.position(lane)
        self._on_their_way[lane] += 1
        return Portion(self, lane, end, len(entries), items, lost, replaced)

    def delivered(self, portion: Portion) -> None:
        """Note that the peer has a portion; `acknowledge` makes it last."""
        lane, before = portion.lane, self._delivered.get(portion.lane)
        self._on_their_way[lane] -= 1
        self._delivered[lane] = (portion.end, portion.records + (before[1] if before else 0))
        self._positions[lane] = portion.end
        self.producer.lost(portion.lost)
        self.producer.redacted(portion.replaced)

    def rewind(self, lane: int) -> None:
        """Read `lane` again from where the peer has everything: what could not be sent stays in the journal, not in memory."""
        self._on_their_way[lane] = 0
        self._reader.rewind(lane, self._positions[lane])

    def acknowledge(self) -> None:
        """Make lasting what was delivered. What the producer is remembered by must have been stored before. Raises `OSError`."""
        if not self._delivered:
            return
        try:
            self._reader.acknowledge_lanes(self._delivered)
        except FileNotFoundError:
            if self.folder.is_dir():
                raise
            # Somebody removed the log: there is nothing to be kept from being read again.
        self._delivered.clear()

    @property
    def unacknowledged(self) -> bool:
        """Whether `acknowledge` has something to do."""
        return bool(self._delivered)

    @property
    def settled(self) -> bool:
        """Whether all that was read was delivered and acknowledged."""
        return not self._delivered and not any(self._on_their_way.values())

    def telemetry(self, *, final: bool = False) -> list[Item]:
        """Return the heartbeat's numbers as metrics, where anybody wants them."""
        return [self.vitals.telemetry(self._pending_bytes(), final=final)] if self._derive else []

    def rest(self) -> None:
        """Close files until the next read."""
        self._reader.close()

    def _pending_bytes(self) -> int:
        return 0 if self.settled and all(self._drained.values()) else self._reader.pending_bytes()
