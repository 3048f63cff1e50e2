"""What changes about a span while it is open."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..records import decode_start
from .encoding import Row
from .links import LinkRow

__all__ = ["Changes"]


class Changes:
    """What was set, added and renamed since a span began."""

    __slots__ = ("attributes", "dropped", "events", "links", "message", "name", "status")

    def __init__(self) -> None:
        self.attributes: dict[str, Any] = {}
        self.dropped = 0
        self.events: list[tuple[int, str, dict[str, Any]]] | None = None
        self.links: list[LinkRow] | None = None
        self.message: str | None = None
        self.name: str | None = None
        self.status = 0

    def rest(self, end: int, identity: Mapping[str, object] | None) -> Row:
        """Return the fields of `records.SpanRest`. Identity goes before attributes of the same name."""
        attributes = self.attributes
        if identity is not None and not identity.keys().isdisjoint(attributes):
            attributes = {name: value for name, value in attributes.items() if name not in identity}
        return end, attributes, self.status, self.message, self.events, self.links, self.name, self.dropped

    def whole(self, head: bytes, end: int, identity: Mapping[str, object] | None) -> Row:
        """Return the fields of `records.SpanEnd`, identity at the end of the attributes, where no limit reaches it."""
        start = decode_start(head)
        known = {**start.attributes, **self.attributes}
        attributes = {name: value for name, value in known.items() if name not in (identity or ())}
        attributes.update((name, start.attributes[name]) for name in identity or ())
        return (
            "e", start.trace_id, start.span_id, start.parent_id, self.name or start.name, start.kind, start.start, end, self.status,
            self.message, attributes, self.events, [*(start.links or ()), *(self.links or ())] or None, start.scope, "", self.dropped,
        )  # fmt: skip
