"""What comes when its trace has gone out: collected for the commit under way, then sent as late."""

from __future__ import annotations

from ..assemble import Part
from ..records import Span
from .assembly import Assembly
from .delivered import Delivered, DeliveredTrace


class Late:
    """Late parts of the commit under way."""

    def __init__(self, assembly: Assembly, delivered: Delivered) -> None:
        self._assembly = assembly
        self._delivered = delivered
        self._parts: dict[str, list[Part]] = {}

    def add(self, trace_id: str, gone: DeliveredTrace, part: Part) -> bool:
        """Take a part of a trace that has gone out; False when it is a span that was taken before."""
        if not part.sequence and isinstance(part.item, Span):
            if part.item.span_id in gone.ids:
                return False
            gone.ids.add(part.item.span_id)
            self._delivered.changed(trace_id)
        self._parts.setdefault(trace_id, []).append(part)
        return True

    def send(self) -> None:
        """Send all of them, those of a trace together."""
        for trace_id, parts in self._parts.items():
            if (gone := self._delivered.get(trace_id)) is not None:
                self._assembly.send_late(gone.run, trace_id, gone.step, parts)
        self._parts.clear()
