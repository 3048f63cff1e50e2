"""One trace whose records are still coming."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import msgspec

from rollscope import vocabulary as v

from ..assemble import Item, Part
from ..records import Span


class Root(msgspec.Struct, array_like=True):
    """What the root span said."""

    producer: str
    sequence: int
    expected: int | None
    """`rl.trajectory.record_count`."""
    aborted: bool
    span_id: str = ""


class Meta(msgspec.Struct):
    """What is kept in memory of every open trace, and in its row."""

    numbers: list[tuple[str, int]] = []
    """Producer and number of each numbered record; until the root tells which of them count."""
    have: int = 0
    """Of the records that `Root.expected` counts, those that came."""
    root: Root | None = None
    size: int = 0
    """Bytes of the parts in the store."""
    ids: set[str] = set()
    """Span ids of the spans without number."""
    spans: int = 0


class OpenTrace:
    """A trace in memory; its parts may be in the store only."""

    __slots__ = ("cached", "fresh", "meta", "parts", "queue", "run", "touched")

    def __init__(self, run: str, meta: Meta, parts: list[Part] | None, touched: int) -> None:
        self.run = run
        self.meta = meta
        self.parts = parts
        """Parts that are in the store, None when they have to be read."""
        self.cached = 0
        """Bytes of memory that `parts` take, about."""
        self.fresh: list[Part] = []
        """Parts that are not in the store yet."""
        self.touched = touched
        self.queue = -1
        """In which queue it waits, a `patience`; -1 in none."""

    def add(self, part: Part, producer: str, run: str) -> None:
        """Take one part that `producer` wrote; a root also brings its run."""
        self.fresh.append(part)
        item, number = part.item, part.sequence
        if isinstance(item, Span):
            meta = self.meta
            meta.spans += 1
            if not number:
                meta.ids.add(item.span_id)
            if item.parent_id is None and self._is_better_root(item):
                self._set_root(number, item, producer, run)
        if number:
            self.count(producer, number)

    def add_below(self, parts: Sequence[tuple[int, Span]], resource: int, producer: str) -> int:
        """Take spans that are no roots, each with its number, while it `awaits_root`; return how many without number were new."""
        meta, fresh = self.meta, self.fresh
        before = len(meta.ids)
        for number, span in parts:
            if number:
                meta.numbers.append((producer, number))
            elif span.span_id in meta.ids:
                continue
            else:
                meta.ids.add(span.span_id)
            fresh.append(Part(resource, number, span))
            meta.spans += 1
        return len(meta.ids) - before

    def count(self, producer: str, number: int) -> None:
        """Note a numbered record under this trace, whether or not it is a part."""
        root = self.meta.root
        if root is None or root.aborted:
            self.meta.numbers.append((producer, number))
        elif root.expected is not None and producer == root.producer and number <= root.sequence:
            self.meta.have += 1

    def _is_better_root(self, span: Span) -> bool:
        known = self.meta.root
        return known is None or (known.aborted and v.ABORTED not in span.attributes)

    def _set_root(self, number: int, span: Span, producer: str, run: str) -> None:
        expected = span.attributes.get(v.TRAJECTORY_RECORD_COUNT)
        aborted = v.ABORTED in span.attributes
        told = expected if isinstance(expected, int) and number and not aborted else None
        self.meta.root = Root(producer, number, told, aborted, span.span_id)
        self.run = run
        if not aborted:
            self.meta.have = sum(by == producer and each <= number for by, each in self.meta.numbers)
            self.meta.numbers = []

    @property
    def awaits_root(self) -> bool:
        """Whether the root that counts its records is to come: until then nothing else can make it whole."""
        root = self.meta.root
        return root is None or root.aborted

    @property
    def owner(self) -> str:
        """Span id of the root whose trajectory it is, empty while none has come that its own process ended."""
        root = self.meta.root
        return root.span_id if root is not None and root.expected is not None else ""

    @property
    def whole(self) -> bool:
        """Whether everything the root counted is here."""
        root = self.meta.root
        return root is not None and root.expected is not None and self.meta.have >= root.expected

    @property
    def patience(self) -> int:
        """How long it may wait for news: 0 if only time can tell that it is whole, 1 if it lacks something, 2 before its first span."""
        root = self.meta.root
        if root is not None and root.expected is None:
            return 0
        # Without any part there is nothing to keep for a trace that may never come.
        return 2 if not self.meta.spans and (self.fresh or self.meta.size) else 1

    def missing(self) -> str:
        """Return what is known not to be here."""
        root = self.meta.root
        if root is None:
            return "the root span"
        if root.expected is not None and self.meta.have < root.expected:
            return f"{root.expected - self.meta.have} of {root.expected} records"
        return ""


def ends_trajectory(item: Item, number: int) -> TypeGuard[Span]:
    """Whether it is the root of a trajectory, ended by its own process; `number`: its record's."""
    return bool(number) and isinstance(item, Span) and item.parent_id is None and v.TRAJECTORY_RECORD_COUNT in item.attributes


def is_lone(span: Span) -> bool:
    """Whether a root that counted nothing, and is no rollout, has nothing to wait for: if its process wrote no more under it before."""
    found = span.attributes
    return (
        span.parent_id is None
        and v.TRAJECTORY_RECORD_COUNT not in found
        and v.TRAJECTORY_ID not in found
        and found.get(v.GEN_AI_OPERATION_NAME) != v.SPAN_INVOKE_AGENT
    )
