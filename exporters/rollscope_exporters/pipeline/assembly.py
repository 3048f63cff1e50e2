"""Assembly: the parts of a trace become the records that backends get, each with the numbered records it stands for."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Sequence

from msgspec.structs import force_setattr

from ..assemble import Part, is_trajectory, late_records, spans_of, trajectory
from ..records import LateFacts, Span, Trace, Trajectory
from .images import Images
from .outbox import Outbox
from .resources import Source, Sources

log = logging.getLogger("rollscope.pipeline")


class Assembly:
    """Puts traces into the outbox."""

    def __init__(self, outbox: Outbox, sources: Sources, images: Images) -> None:
        self._outbox = outbox
        self._sources = sources
        self._images = images

    def send(self, run: str, trace_id: str, parts: list[Part], missing: str) -> int | None:
        """Send a trace, as a trajectory where it is one; returns the step of that. `missing`: what is known not to be here."""
        spans = spans_of(parts, self._sources)
        others = [part for part in parts if not isinstance(part.item, Span)]
        if spans and is_trajectory(spans):
            try:
                whole = self._images.within(trajectory(run, trace_id, spans, others, missing))
            except (sqlite3.Error, MemoryError):
                raise
            except Exception:  # it would stop everything behind it, at every start
                log.exception("trajectory %s of %s cannot be assembled; its spans are delivered as a plain trace", trace_id, run)
            else:
                self._put(whole, parts)
                return whole.step
        if spans:
            self._put(Trace(run=run, trace_id=trace_id, spans=spans), [part for part in parts if isinstance(part.item, Span)])
        if others:
            self.send_late(run, trace_id, None, others)
        return None

    def send_alone(self, trace_id: str, source: Source, span: Span) -> None:
        """Send a trace that is one numbered span."""
        force_setattr(span, "resource", source.attributes)
        self._outbox.add(Trace(run=source.run, trace_id=trace_id, spans=[span]), {source.name: 1})

    def send_late(self, run: str, trace_id: str, step: int | None, parts: Sequence[Part]) -> None:
        """Send what does not come with the rest of its trace. `step`: the trajectory's."""
        for record, of in late_records(run, trace_id, parts, self._sources, step):
            self._put(record, of)

    def _put(self, record: Trajectory | Trace | LateFacts, parts: Sequence[Part]) -> None:
        counted: dict[int, int] = {}
        for part in parts:
            resource = part.resource if part.sequence else 0
            counted[resource] = counted.get(resource, 0) + 1
        sources: dict[str, int] = {}
        for resource, records in counted.items():
            name = self._sources.producer_of(resource) if resource else ""
            sources[name] = sources.get(name, 0) + records
        self._outbox.add(record, sources)
