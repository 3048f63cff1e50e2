"""What a trace is put together from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import TypeAlias

import msgspec
from msgspec.structs import force_setattr

from rollscope import vocabulary as v

from ..records import Reward, Span, TokenSegment

Resources: TypeAlias = Mapping[int, dict[str, object]]
"""Resource id → resource attributes."""


class Fact(msgspec.Struct, frozen=True, tag_field="record", tag="fact"):
    """Facts about a trajectory, such as its advantage or whether it was filtered."""

    values: dict[str, object]
    time: int = 0


Item: TypeAlias = Span | TokenSegment | Reward | Fact


class Part(msgspec.Struct, frozen=True, array_like=True):
    """One record under a trace id."""

    resource: int
    """Id of the resource it came with."""
    sequence: int
    """Its number within its producer, 0 for none."""
    item: Item


def spans_of(parts: Sequence[Part], resources: Resources) -> list[Span]:
    """Return the spans in start order, root first, each once.

    A span that the shipper closed for a dead process (`rl.aborted`) gives way to the real one. `Span.resource` is set on the first
    and on those with another one: a resource is some 600 bytes, and a trace has it once or a few times, not once a span.
    """
    found: dict[str, Span] = {}
    came_with: dict[str, int] = {}
    for part in parts:
        span = part.item
        if isinstance(span, Span):
            other = found.get(span.span_id)
            if other is None or (v.ABORTED in other.attributes and v.ABORTED not in span.attributes):
                found[span.span_id] = span
                came_with[span.span_id] = part.resource
    ordered = sorted(found.values(), key=_started)
    ordered = [span for span in ordered if span.parent_id is None] + [span for span in ordered if span.parent_id is not None]
    first = came_with[ordered[0].span_id] if ordered else 0
    for place, span in enumerate(ordered):
        resource = came_with[span.span_id]
        if not place or resource != first:
            force_setattr(span, "resource", resources.get(resource, {}))
    return ordered


_started = attrgetter("start", "span_id")


def rewards_of(parts: Iterable[Part]) -> list[Reward]:
    """Return the rewards in the order of their time, each fact once."""
    found: dict[str, Reward] = {}
    for n, part in enumerate(parts):
        if isinstance(part.item, Reward):
            found.setdefault(part.item.uid or f"#{n}", part.item)
    return sorted(found.values(), key=lambda reward: reward.time)


def facts_of(parts: Iterable[Part]) -> dict[str, object]:
    """Return all facts; of one told twice, the later one."""
    facts = sorted([part.item for part in parts if isinstance(part.item, Fact)], key=lambda fact: fact.time)
    return {name: value for fact in facts for name, value in fact.values.items()}


def segments_of(parts: Iterable[Part]) -> list[TokenSegment]:
    """Return the token segments in the order they were recorded: by time, and by number where one process wrote them at one moment."""
    found = [part for part in parts if isinstance(part.item, TokenSegment)]
    found.sort(key=lambda part: (part.item.time, part.sequence))  # type: ignore[union-attr]
    return [part.item for part in found if isinstance(part.item, TokenSegment)]
