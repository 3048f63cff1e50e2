"""A log's producer as the shipper knows it: who it is, when it was seen last, what of its records was lost or redacted."""

from __future__ import annotations

import time
from collections.abc import Mapping

import msgspec

from .. import vocabulary as v
from ..journal import LogReader
from ..records import Event, Record, SpanEnd
from ..settings import Redaction
from .state import Remembered

_SEEN_LAG = 1_000_000_000


class Producer:
    """What is known of the process that writes one log; all of it is `remembered`."""

    def __init__(self, reader: LogReader, remembered: Remembered | None) -> None:
        self.remembered = remembered or Remembered()
        self.changed = False
        """Whether `remembered` differs from what was stored."""
        self._reader = reader
        self._seen_stored = self.remembered.last_seen

    @property
    def id(self) -> str:
        """The name of its log's folder."""
        return self._reader.folder.name

    @property
    def known(self) -> bool:
        """Whether the log says whose it is; a log that never held a record, or was removed halfway, does not."""
        if not self.remembered.resource:
            meta = self._reader.meta()
            resource = meta.get("resource")
            if isinstance(resource, dict):
                self.remembered.redact = msgspec.convert(meta.get("redact", {}), Redaction)
                self.remembered.resource = resource
                self.changed = True
        return bool(self.remembered.resource)

    @property
    def resource(self) -> dict[str, object]:
        """OTLP resource attributes, nothing redacted in them."""
        return {v.PRODUCER_ID: self.id, **(self.remembered.resource if self.known else {})}

    @property
    def redaction(self) -> Redaction:
        """What it wants redacted."""
        return self.remembered.redact if self.known else Redaction()

    @property
    def unfinished(self) -> bool:
        """Whether it began a run and did not finish it."""
        return self.remembered.began and not self.remembered.finished

    def alive(self) -> bool:
        """Return whether the process lives; remembers when it was seen."""
        alive = self._reader.alive()
        if alive:
            self._saw(time.time_ns())
        return alive

    def follow(self, record: Record) -> None:
        """Note what a record says of the process: when it lived, and what became of the run it began."""
        remembered = self.remembered
        if isinstance(record, SpanEnd):
            self._saw(record.end)
        elif isinstance(record, Event):
            self._saw(record.time)
            if record.name == v.EVENT_RUN_STARTED:
                remembered.began = self.changed = True
            elif record.name == v.EVENT_RUN_FINISHED:
                remembered.finished = self.changed = True

    def lost(self, lost: Mapping[str, int]) -> None:
        """Count records that the shipper left behind, by reason."""
        for reason, records in lost.items():
            self.remembered.lost[reason] = self.remembered.lost.get(reason, 0) + records
            self.changed = True

    def redacted(self, replaced: Mapping[str, int]) -> None:
        """Count values that were redacted, by what found them."""
        for finder, values in replaced.items():
            reason = f"redacted: {finder}"
            self.remembered.replaced[reason] = self.remembered.replaced.get(reason, 0) + values
            self.changed = True

    def _saw(self, time: int) -> None:
        """Note when the process was seen; what is stored of it lags a second behind at most."""
        remembered = self.remembered
        remembered.last_seen = max(remembered.last_seen, time)
        if remembered.last_seen - self._seen_stored >= _SEEN_LAG:
            self._seen_stored, self.changed = remembered.last_seen, True
