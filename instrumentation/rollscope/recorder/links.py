"""Links to other spans, as rows of a record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from opentelemetry import trace
from opentelemetry.trace import SpanContext

__all__ = ["LinkRow", "link_of", "links_of"]

LinkRow: TypeAlias = "tuple[bytes, bytes, dict[str, Any]]"
"""Trace id, span id, attributes."""


def links_of(links: Any) -> list[LinkRow] | None:
    """Turn OpenTelemetry links, span contexts or spans into rows; None when there are none."""
    if not links:
        return None
    rows = []
    for link in links:
        if isinstance(link, tuple) and not isinstance(link, SpanContext):
            rows.append(link)
        elif isinstance(link, trace.Link):
            rows.append(link_of(link.context, link.attributes))
        else:
            rows.append(link_of(link.get_span_context() if isinstance(link, trace.Span) else link, None))
    return rows


def link_of(context: SpanContext, attributes: Mapping[str, Any] | None) -> LinkRow:
    """Return the row of a link."""
    return context.trace_id.to_bytes(16, "big"), context.span_id.to_bytes(8, "big"), dict(attributes or {})
