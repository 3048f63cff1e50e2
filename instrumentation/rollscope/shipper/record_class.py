"""One class of records on its way from the logs to the peer: run and step records, spans, or tokens.

What the peer has counts as delivered; what could not be sent is read from the journal again.
"""

from __future__ import annotations

from .delivery import TARGET
from .derived import DerivedGauges
from .fleet import Fleet
from .health import Health
from .otlp import Item
from .sender import Ended, Sender
from .source import Portion


class RecordClass:
    """Sends what is new in one lane of all logs, a piece at a time."""

    def __init__(self, lane: int, sender: Sender, fleet: Fleet, derived: DerivedGauges, health: Health) -> None:
        self._lane = lane
        self._sender = sender
        self._fleet = fleet
        self._derived = derived
        self._health = health

    def begin(self, now: float) -> bool:
        """Begin to send what is new; False when nothing is, or when it is not its time."""
        if not self._sender.free(now):
            return False
        portions = self._fleet.gather(self._lane, TARGET)
        if not portions:
            return False
        items = [item for portion in portions for item in portion.items]
        derived = [item for item in items if item.derived]
        self._sender.begin([item for item in items if not item.derived], lambda ended: self._after(ended, portions, derived))
        return True

    def due_at(self) -> float:
        """Return when to look again (monotonic clock, seconds); while something is sent, its end is what wakes."""
        if self._sender.busy:
            return float("inf")
        return max(self._fleet.due_at(self._lane), self._sender.attempts.not_before)

    def _after(self, ended: Ended, portions: list[Portion], derived: list[Item]) -> None:
        for item, reason in ended.aside:
            self._count_aside(item, reason, portions)
        if self._health.after(self._sender, ended):
            self._fleet.delivered(portions)
            self._derived.add(derived)
        else:
            self._fleet.rewind(portions)

    def _count_aside(self, item: Item, reason: str, portions: list[Portion]) -> None:
        self._health.set_aside(reason)
        if item.sequence:
            portion = next(portion for portion in portions if any(item is each for each in portion.items))
            portion.lost[f"evicted {reason}"] += 1
