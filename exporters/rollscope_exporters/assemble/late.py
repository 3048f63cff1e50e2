"""What came after its trace had been delivered."""

from __future__ import annotations

from collections.abc import Sequence

from ..records import LateFacts, Span, Trace
from .parts import Part, Resources, facts_of, rewards_of, segments_of, spans_of


def late_records(
    run: str, trace_id: str, parts: Sequence[Part], resources: Resources, step: int | None = None
) -> list[tuple[Trace | LateFacts, list[Part]]]:
    """Return spans as `Trace(late=True)`, everything else as `LateFacts`, each with the parts it stands for."""
    spans = [part for part in parts if isinstance(part.item, Span)]
    others = [part for part in parts if not isinstance(part.item, Span)]
    found: list[tuple[Trace | LateFacts, list[Part]]] = []
    if spans:
        found.append((Trace(run=run, trace_id=trace_id, spans=spans_of(spans, resources), late=True), spans))
    if others:
        facts = LateFacts(
            run=run, trajectory=trace_id, step=step, rewards=rewards_of(others), facts=facts_of(others), tokens=segments_of(others)
        )
        found.append((facts, others))
    return found
