"""From a record's plain tuple to bytes: at once where the encoder takes it, by way of the sanitiser where not.

The tuples are what `rollscope.records` describes, tag first; a tuple costs a tenth of a struct in the caller.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec

from .. import vocabulary as v
from .gate import report
from .sanitise import Sanitiser

if TYPE_CHECKING:
    from ..settings import Limits

__all__ = ["REFUSED", "Encoder", "Row", "encode"]

Row = tuple[Any, ...]

encode: Callable[[object], bytes] = msgspec.msgpack.Encoder().encode
"""Encode a row; raises for any value that is not plain."""

REFUSED = (TypeError, ValueError, OverflowError, RecursionError)
"""What `encode` raises for a value that is not plain, such as numpy's, a lone surrogate or a list that holds itself."""

_HARDER = 4
_LEAST = 16


class Encoder:
    """Encodes rows that the plain encoder refused or that are large."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        # No string can be over its limit in a record that is smaller than the limit.
        self.look_above = min(limits.value_length, limits.record_bytes)

    def large(self, row: Row, payload: bytes) -> bytes:
        """Return `payload`, or a shorter one when a value or the whole is over its limit."""
        cleaned, lossy = self._clean(row, self.limits)
        return self._fit(row, encode(cleaned)) if lossy or len(payload) > self.limits.record_bytes else payload

    def refused(self, row: Row) -> bytes:
        """Return a clean encoding of a row that the plain encoder refused."""
        cleaned, _ = self._clean(row, self.limits)
        return self._fit(row, encode(cleaned))

    def _fit(self, row: Row, payload: bytes) -> bytes:
        limits = self.limits
        if len(payload) > limits.record_bytes:
            report("truncated", "big_record", f"a record has {len(payload)} bytes, {limits.record_bytes} are kept")
        while len(payload) > self.limits.record_bytes and limits.value_length > _LEAST:
            limits = msgspec.structs.replace(
                limits,
                value_length=limits.value_length // _HARDER,
                items=max(limits.items // _HARDER, _LEAST),
                attributes=max(limits.attributes // 2, _LEAST),
                events=limits.events // _HARDER,
                links=limits.links // _HARDER,
            )
            cleaned, _ = self._clean(row, limits, shrink=True)
            payload = encode(cleaned)
        return payload

    def _clean(self, row: Row, limits: Limits, *, shrink: bool = False) -> tuple[Row, bool]:
        sanitiser = Sanitiser(limits, _quiet if shrink else None, bytes_limit=limits.value_length if shrink else None)
        made: Row = _CLEANERS[row[0]](row, sanitiser, limits)
        lossy = sanitiser.lossy or shrink
        if lossy:
            made[_ATTRIBUTES[row[0]]][v.ATTRIBUTES_DROPPED] = True
        return made, lossy


_ATTRIBUTES = {"s": 7, "e": 10, "v": 3, "t": 12}


def _quiet(kind: str, message: str) -> None:
    """The record as a whole was reported already."""


def _clean_start(row: Row, clean: Sanitiser, limits: Limits) -> Row:
    tag, trace_id, span_id, parent_id, name, kind, start, attributes, links, scope = row
    return (
        tag, trace_id, span_id, parent_id, clean.name(name), kind, start,
        clean.attributes(attributes), _clean_links(links, clean, limits), clean.name(scope),
    )  # fmt: skip


def _clean_end(row: Row, clean: Sanitiser, limits: Limits) -> Row:
    tag, trace_id, span_id, parent_id, name, kind, start, end, status, message, attributes, events, links, scope, state, dropped = row
    return (
        tag, trace_id, span_id, parent_id, clean.name(name), kind, start, end, status,
        None if message is None else clean.text(message), clean.attributes(attributes), _clean_events(events, clean, limits),
        _clean_links(links, clean, limits), clean.name(scope), clean.name(state), dropped,
    )  # fmt: skip


def _clean_event(row: Row, clean: Sanitiser, limits: Limits) -> Row:
    tag, name, time, attributes, trace_id, span_id, body, severity, scope = row
    # An event of ours holds few attributes of its own; the many of a step are inside one map.
    text = None if body is None else clean.text(body if isinstance(body, str) else str(body))
    return (tag, clean.name(name), time, clean.attributes(attributes), trace_id, span_id, text, severity, clean.name(scope))


def _clean_tokens(row: Row, clean: Sanitiser, limits: Limits) -> Row:
    tag, trace_id, span_id, time, role, kept, lead, ids, logprobs, mask, advantages, tokenizer, attributes = row
    return (
        tag, trace_id, span_id, time, clean.name(role), kept, _plain(lead, int), _plain(ids, int), _plain(logprobs, _float),
        _plain(mask, bool), _plain(advantages, _float), None if tokenizer is None else clean.name(tokenizer), clean.attributes(attributes),
    )  # fmt: skip


_CLEANERS: dict[str, Callable[[Row, Sanitiser, Limits], Row]] = {
    "s": _clean_start,
    "e": _clean_end,
    "v": _clean_event,
    "t": _clean_tokens,
}


def _clean_events(events: list[Row] | None, clean: Sanitiser, limits: Limits) -> list[Row] | None:
    return events and [(time, clean.name(name), clean.attributes(attributes)) for time, name, attributes in events[: limits.events]]


def _clean_links(links: list[Row] | None, clean: Sanitiser, limits: Limits) -> list[Row] | None:
    return links and [(trace_id, span_id, clean.attributes(attributes)) for trace_id, span_id, attributes in links[: limits.links]]


def _plain(values: Any, kind: Callable[[Any], object]) -> object:
    if values is None or isinstance(values, (bytes, msgspec.Raw)):  # encoded already
        return values
    return [kind(value) for value in values]


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
