"""One encoded record, ready to be placed into a request."""

from __future__ import annotations

import msgspec

from ...settings.endpoint import Channel, Signal

RESOURCE_FIELD = SCOPE_FIELD = 1
RECORDS_FIELD = 2
SCHEMA_FIELD = 3
"""Field numbers, the same in `ResourceSpans`, `ResourceLogs`, `ResourceMetrics` and their scopes."""

REQUEST_CAP = 3 << 20
"""Bytes that no request exceeds; the usual limit of a gRPC server is 4 MiB."""
RECORD_CAP = REQUEST_CAP - (64 << 10)
"""Bytes of one encoded record; with its resource it stays below the cap of a request."""


class Item(msgspec.Struct, frozen=True, gc=False):
    """One record in OTLP, framed as its parent message wants it."""

    signal: Signal
    resource: bytes
    """Encoded `Resource`, framed."""
    scope: bytes
    """Encoded `InstrumentationScope`, framed; empty when `data` is whole `Resource…` messages of the request."""
    data: bytes
    what: str
    """Kind of the record, for messages."""
    sequence: int = 0
    """Number within its producer; 0 is not counted."""
    derived: bool = False
    """Whether it repeats what another item says in another form."""
    payload: bool = False
    """Whether it holds tokens, which never share a request with anything else."""

    @property
    def channel(self) -> Channel:
        """Where it goes."""
        return "tokens" if self.payload else self.signal
