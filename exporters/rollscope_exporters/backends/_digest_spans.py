"""The spans of a trajectory as a digest row keeps them, for destinations that show what happened when."""

from __future__ import annotations

from rollscope import vocabulary as v

from ..records import Span, Trajectory
from ._plain import text


def span_rows(record: Trajectory) -> list[dict[str, object]]:
    """Return who called whom and how long it took, oldest first: times in Unix ns, no content."""
    return [_row(span) for span in record.spans]


def _row(span: Span) -> dict[str, object]:
    found: dict[str, object] = {
        "id": span.span_id,
        "parent_id": span.parent_id,
        "name": text(span.name),
        "kind": "tool" if span.is_tool_call else "generation" if span.attributes.get(v.GEN_AI_OPERATION_NAME) == v.SPAN_CHAT else "span",
        "start": span.start,
        "end": span.end,
        "status": "error" if span.failed else "ok",
    }
    return found | ({"error": text(span.message)} if span.message else {})
