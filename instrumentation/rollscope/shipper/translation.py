"""From what one producer wrote to items: redacted as it and the node ask for, then encoded. What cannot be, stays behind."""

from __future__ import annotations

import logging
from collections import Counter
from typing import TypeVar

import msgspec

from ..journal import Entry
from ..records import Record, SpanStart, decode
from ..redact import REDACTED, Redactor, Withheld, kept
from ..redact import record as redacted
from .otlp import EncodeError, Encoder, Item
from .otlp.tokens import Texts
from .producer import Producer
from .redactors import Redactors

_log = logging.getLogger(__name__)

AnyRecord = TypeVar("AnyRecord", bound=Record | SpanStart)


class Translation:
    """Turns the records of one producer into items. `derive`: with gauges for Prometheus of its step metrics."""

    def __init__(self, producer: Producer, texts: Texts, redactors: Redactors, *, derive: bool) -> None:
        self._producer = producer
        self._texts = texts
        self._redactors = redactors
        self._derive = derive
        self._encoder: Encoder | None = None

    @property
    def held(self) -> str:
        """Why nothing of this log may be sent now, empty where it may: what is to redact it cannot be had."""
        try:
            self._redactor()
        except ValueError as error:
            return str(error)
        return ""

    @property
    def resource(self) -> dict[str, object]:
        """OTLP resource attributes of the producer, as they may be sent."""
        resource = self._producer.resource
        redactor = self._redactor()
        if redactor is None:
            return resource
        try:
            return redactor.whole(lambda: redactor.attributes(resource))
        except Withheld as error:
            _log.error("resource of %s left out: %s", self._producer.id, error)
            return kept(resource)

    @property
    def encoder(self) -> Encoder:
        """The producer's encoder, made when its log can first be read."""
        if self._encoder is None:
            self._encoder = Encoder(self.resource, self._texts, derive=self._derive, redactor=self._redactor())
        return self._encoder

    def items(self, entry: Entry, lost: Counter[str]) -> list[Item]:
        """Return the items of one record; one that is left behind has none, and is counted in `lost` by reason."""
        try:
            record = decode(entry.payload)
            self._producer.follow(record)
            return self.encoder.encode(self._clean(record), entry.sequence)
        except Withheld as error:
            # Its message holds nothing of the record, and no stack trace is logged: that would.
            _log.error("record %d of %s withheld: %s", entry.sequence, self._producer.id, error)
            lost[f"evicted {error}"] += 1
            return []
        except (msgspec.MsgspecError, EncodeError) as error:
            _log.error("record %d of %s left behind: %s", entry.sequence, self._producer.id, error)
            lost["evicted unreadable"] += 1
            return []

    def aborted(self, starts: list[SpanStart], end: int) -> list[Item]:
        """Return the spans that `starts` began, closed at `end` (Unix time, ns)."""
        items = []
        for start in starts:
            try:
                items.append(self.encoder.aborted(self._clean(start), end))
            except (Withheld, EncodeError) as error:
                _log.error("an open span of %s is not told of: %s", self._producer.id, error)
        return items

    def name(self, start: SpanStart) -> str:
        """Return the name of a span as it may be sent."""
        redactor = self._redactor()
        try:
            return start.name if redactor is None else redactor.whole(lambda: redactor.name(start.name))
        except Withheld:
            return REDACTED

    def replaced(self) -> Counter[str]:
        """Return values redacted so far, by what found them, in all logs that ask for the same: what one piece of work adds is its own."""
        redactor = self._redactor()
        return redactor.replaced.copy() if redactor else Counter()

    def _redactor(self) -> Redactor | None:
        """Raises `ValueError` while what is to redact this log cannot be had."""
        return self._redactors.of(self._producer.redaction)

    def _clean(self, record: AnyRecord) -> AnyRecord:
        redactor = self._redactor()
        return record if redactor is None else redacted(redactor, record)
