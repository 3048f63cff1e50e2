"""Shortening a record that is over the size limit, so that it travels and says so."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

import msgspec

from ... import vocabulary as v
from ...records import Event, SpanEnd, SpanStart

Cuttable = TypeVar("Cuttable", SpanEnd, SpanStart, Event)

_FIRST, _LAST = 1 << 19, 1 << 6
_TEXT_LIMIT = 4096


def shorter(record: Cuttable) -> Iterator[Cuttable]:
    """Ever shorter forms of `record`: values cut to half the length each time; a span's events go after the first cuts."""
    limit = _FIRST
    while limit >= _LAST:
        attributes = {key: _cut(value, limit) for key, value in record.attributes.items()} | {v.ATTRIBUTES_DROPPED: True}
        changes: dict[str, object] = {"attributes": attributes}
        if isinstance(record, Event) and record.body is not None:
            changes["body"] = record.body[:limit]
        if isinstance(record, SpanEnd) and limit <= _TEXT_LIMIT:
            changes.update(events=None, links=None, message=record.message and record.message[:limit])
        yield msgspec.structs.replace(record, **changes)
        limit //= 2


def _cut(value: object, limit: int) -> object:
    if isinstance(value, (str, bytes)):
        return value[:limit]
    if isinstance(value, dict):
        return {key[:limit]: _cut(inner, limit) for key, inner in list(value.items())[:limit]}
    return [_cut(inner, limit) for inner in value[:limit]] if isinstance(value, list) else value
