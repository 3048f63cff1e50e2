"""What a journal holds: one msgpack array per record, tagged in its first element.

The recorder encodes these shapes, the shipper decodes them and nobody else knows them. Token arrays may be a list as the
engine gave it or bytes of a packed array: packing is the shipper's work, off the rollout path. The sequence number of a
record is not in here: the journal writes it into the record's header when it has found room.
"""

from __future__ import annotations

from functools import cache
from typing import Literal, NewType, TypeAlias

import msgspec

TraceId = NewType("TraceId", bytes)
"""16 bytes."""
SpanId = NewType("SpanId", bytes)
"""8 bytes."""

Value: TypeAlias = "str | bool | int | float | bytes | list[Value] | dict[str, Value] | None"

PRIORITY_RUN: Literal[0] = 0
"""Run and step records: never dropped for anything else."""
PRIORITY_SPAN: Literal[1] = 1
"""Spans, rewards, tables, log lines."""
PRIORITY_TOKENS: Literal[2] = 2
"""Token payloads: first to go when the byte limit is reached."""


class SpanStart(msgspec.Struct, array_like=True, tag="s", frozen=True, gc=False):
    """A span began. The journal holds it until the span ends, so that the shipper can show it meanwhile, and close it when its process
    dies."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    name: str
    kind: int
    """OTLP span kind (1 internal, 2 server, 3 client, 4 producer, 5 consumer)."""
    start: int
    """Unix time, ns."""
    attributes: dict[str, object]
    links: list[tuple[bytes, bytes, dict[str, object]]] | None = None
    scope: str = "rollscope"


class SpanRest(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """What changed about a span while it was open."""

    end: int
    attributes: dict[str, object]
    """Those that were set; they go before those of the start."""
    status: int
    message: str | None
    events: list[tuple[int, str, dict[str, object]]] | None
    links: list[tuple[bytes, bytes, dict[str, object]]] | None
    """Those that were added."""
    name: str | None
    """Another name than at the start."""
    dropped_attributes: int


class SpanParts(msgspec.Struct, array_like=True, tag="p", frozen=True, gc=False):
    """A `SpanEnd` as a recorder writes it: the bytes with which the span began, and then the rest."""

    start: SpanStart
    rest: int | SpanRest
    """The end (Unix time, ns), with what changed where anything did."""

    def whole(self) -> SpanEnd:
        """Return the span in one piece."""
        start, rest = self.start, self.rest
        if isinstance(rest, int):
            rest = SpanRest(rest, {}, 0, None, None, None, None, 0)
        return SpanEnd(
            start.trace_id,
            start.span_id,
            start.parent_id,
            rest.name or start.name,
            start.kind,
            start.start,
            rest.end,
            rest.status,
            rest.message,
            {**start.attributes, **rest.attributes},
            rest.events,
            [*(start.links or ()), *(rest.links or ())] or None,
            start.scope,
            "",
            rest.dropped_attributes,
        )


class SpanEnd(msgspec.Struct, array_like=True, tag="e", frozen=True, gc=False):
    """A span ended; whole in itself."""

    trace_id: bytes
    span_id: bytes
    parent_id: bytes | None
    name: str
    kind: int
    start: int
    end: int
    """Unix time, ns: `start` plus a monotonic duration."""
    status: int
    """0 unset, 1 ok, 2 error."""
    message: str | None
    """Status description."""
    attributes: dict[str, object]
    events: list[tuple[int, str, dict[str, object]]] | None = None
    """Time (ns), name, attributes."""
    links: list[tuple[bytes, bytes, dict[str, object]]] | None = None
    """Trace id, span id, attributes."""
    scope: str = "rollscope"
    trace_state: str = ""
    dropped_attributes: int = 0


class Event(msgspec.Struct, array_like=True, tag="v", frozen=True, gc=False):
    """An OTLP log record: an event of the vocabulary, or a program's log line."""

    name: str
    """Event name, empty for a plain log record."""
    time: int
    """Unix time, ns."""
    attributes: dict[str, object]
    trace_id: bytes | None = None
    span_id: bytes | None = None
    body: str | None = None
    severity: int = 9
    """OTLP severity number; 9 is INFO."""
    scope: str = "rollscope"


class Tokens(msgspec.Struct, array_like=True, tag="t", frozen=True, gc=False):
    """One segment of a trajectory's token stream. All arrays have the shape `(tokens,)`."""

    trace_id: bytes
    span_id: bytes
    time: int
    role: str
    """`prompt` or `output`."""
    kept: int
    """Ids of the trajectory's context that stay before this segment."""
    lead: list[int] | bytes
    """Up to 8 ids before the segment (same form as `ids`)."""
    ids: list[int] | bytes
    """Token ids; bytes are little-endian int32."""
    logprobs: list[int | float] | bytes | None = None
    """Natural log; bytes are little-endian float16."""
    loss_mask: list[int | bool] | bytes | None = None
    """Bytes hold one byte a token, 0 or 1."""
    advantages: list[int | float] | bytes | None = None
    """Bytes are little-endian float16."""
    tokenizer: str | None = None
    """Digest of the tokenizer in the run's `tokenizers/` folder, or its name."""
    attributes: dict[str, object] = {}


class Otlp(msgspec.Struct, array_like=True, tag="o", frozen=True, gc=False):
    """A foreign signal that came ready as OTLP: `payload` is an encoded `Export…ServiceRequest`."""

    signal: str
    """`metrics`."""
    payload: bytes


Record: TypeAlias = SpanEnd | Event | Tokens | Otlp
"""What is appended; a `SpanStart` is held beside these."""

SPAN_PARTS = b"\x93\xa1p"
"""How msgpack begins a `SpanParts`; behind it come the encoded `SpanStart` and `rest`."""

_NO_REST = b"\x00"


def decode(payload: bytes) -> Record:
    """Read a record. Raises `msgspec.MsgspecError`."""
    record = _decoder().decode(payload)
    return record.whole() if isinstance(record, SpanParts) else record


def decode_start(head: bytes) -> SpanStart:
    """Read the beginning of a `SpanParts`. Raises `msgspec.MsgspecError`."""
    record = _decoder().decode(head + _NO_REST)
    if not isinstance(record, SpanParts):
        raise msgspec.ValidationError(f"a span begins with a {type(record).__name__}")
    return record.start


@cache
def _decoder() -> msgspec.msgpack.Decoder[SpanParts | Record]:
    """Made when it is first needed, by readers mostly: 1.5 ms that `import rollscope` does not pay."""
    return msgspec.msgpack.Decoder(SpanParts | SpanEnd | Event | Tokens | Otlp)
