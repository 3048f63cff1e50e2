"""Redaction of what comes in, before anything of it is stored: for programs that send without our shipper, which does it on its node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, MutableSequence
from typing import TypeVar

from msgspec.structs import replace

from rollscope import vocabulary as v
from rollscope.redact import Redactor, Withheld, content, kept, plain, segment
from rollscope.settings import Redaction
from rollscope.tokens import Decoded, Undecoded, pack_ids, unpack_ids

from ..decode import Group, Log, Point
from ..records import Span, TokenSegment

T = TypeVar("T")


class Cleaner:
    """Redacts in place what a request holds. Raises `ValueError` for a function that cannot be had."""

    def __init__(self, redaction: Redaction) -> None:
        self._redactor = Redactor(redaction)

    def take_replaced(self) -> Counter[str]:
        """Return values replaced since the last call, by what found them."""
        replaced, self._redactor.replaced = self._redactor.replaced, Counter()
        return replaced

    def group(self, group: Group) -> list[tuple[int, str]]:
        """Redact `group`; return number (0 for a record without one) and reason of each record that had to be withheld.

        Token ids stay: they are looked at with their text, see `segment`.
        """
        redactor = self._redactor
        try:
            group.resource = redactor.whole(lambda: redactor.attributes(group.resource))
        except Withheld:
            group.resource = kept(group.resource)
        withheld: list[tuple[int, str]] = []
        group.spans = [(n, clean) for n, span in group.spans if (clean := self._one(self._span, span, n, withheld))]
        group.logs = [redacted for log in group.logs if (redacted := self._one(self._log, log, log.sequence, withheld))]
        group.points = [left for point in group.points if (left := self._one(self._point, point, 0, withheld))]
        return withheld

    def segment(self, found: TokenSegment) -> TokenSegment:
        """Return a token segment redacted, after its text was made. Raises `Withheld`."""
        ids = unpack_ids(found.ids)
        if found.text is None or len(offsets := unpack_ids(found.offsets or b"")) != len(ids):
            whole: Decoded | Undecoded = Undecoded(found.undecoded or "no text came with them")
        else:
            whole = Decoded(found.text, offsets, found.tail)
        clean = segment(self._redactor, ids, whole)
        if clean.ids == ids:
            return found
        if isinstance(clean.decoded, Undecoded):
            return replace(found, ids=pack_ids(clean.ids), text=None, offsets=None, tail=b"", undecoded=clean.decoded.reason)
        text, ends, tail = clean.decoded
        return replace(found, ids=pack_ids(clean.ids), text=text, offsets=pack_ids(ends), tail=tail)

    def file(self, name: str, found: bytes) -> bytes:
        """Return the content of a file redacted. Raises `Withheld`."""
        return self._redactor.whole(lambda: plain(self._redactor, name, found))

    def _one(self, work: Callable[[T], T], found: T, number: int, withheld: MutableSequence[tuple[int, str]]) -> T | None:
        try:
            return self._redactor.whole(lambda: work(found))
        except Withheld as error:
            withheld.append((number, str(error)))
            return None

    def _span(self, span: Span) -> Span:
        redactor = self._redactor
        return replace(
            span,
            name=redactor.name(span.name),
            message=redactor.text("message", span.message),
            attributes=redactor.attributes(span.attributes),
            events=[(time, redactor.name(name), redactor.attributes(values)) for time, name, values in span.events],
            links=[(trace, id, redactor.attributes(values)) for trace, id, values in span.links],
        )

    def _log(self, log: Log) -> Log:
        redactor = self._redactor
        name = redactor.event_name(log.name)
        if name == v.EVENT_HEARTBEAT:
            return replace(log, attributes={**log.attributes, v.OPEN_SPANS: list(self._open(log.attributes.get(v.OPEN_SPANS)))})
        attributes = content(redactor, log.attributes) if name == v.EVENT_ARTIFACT else log.attributes
        return replace(log, name=name, body=redactor.text("body", log.body), attributes=redactor.attributes(attributes))

    def _open(self, spans: object) -> Iterator[Mapping[str, object]]:
        for span in spans if isinstance(spans, list) else ():
            if isinstance(span, dict):
                yield {**span, "name": self._redactor.name(str(span.get("name", "")))}

    def _point(self, point: Point) -> Point:
        return replace(point, attributes=self._redactor.attributes(point.attributes))
