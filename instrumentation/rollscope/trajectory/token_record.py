"""From a segment of the token stream to its record."""

from __future__ import annotations

import msgspec

from ..arrays import IDS, Packed, length
from ..recorder import Recorder, Span
from ..records import PRIORITY_TOKENS
from .token_stream import Segment

__all__ = ["write_segment"]

_REST = 1024
"""Bytes of a token record beside its arrays, generously."""
_ID, _FLOAT, _FLAG = 5, 9, 1
"""Bytes of an element in msgpack at most."""


def write_segment(
    recorder: Recorder,
    span: Span,
    role: str,
    segment: Segment,
    tokenizer: str | None,
    *,
    logprobs: Packed | None = None,
    loss_mask: Packed | None = None,
    advantages: Packed | None = None,
) -> None:
    """Record a segment. The arrays have as many elements as the segment has ids.

    What is no longer than usual is neither split nor looked into again, and ids that the stream has encoded are not encoded again
    (30 µs for 8,192).
    """
    if _is_small(recorder, segment, logprobs, loss_mask, advantages):
        row: tuple[object, ...] = (
            "t", span.trace_id, span.span_id, recorder.now(), role, segment.kept, segment.lead,
            segment.ids if segment.encoded is None else msgspec.Raw(segment.encoded), logprobs, loss_mask, advantages, tokenizer, {},
        )  # fmt: skip
        if recorder.write(row, PRIORITY_TOKENS) > 0 and span.tally is not None:
            next(span.tally)
        return
    recorder.tokens(
        span.trace_id,
        span.span_id,
        role=role,
        ids=segment.ids,
        kept=segment.kept,
        lead=segment.lead,
        logprobs=logprobs,
        loss_mask=loss_mask,
        advantages=advantages,
        tokenizer=tokenizer,
    )


def _is_small(recorder: Recorder, segment: Segment, logprobs: Packed | None, loss_mask: Packed | None, advantages: Packed | None) -> bool:
    width = _ID
    if logprobs is not None:
        width += _FLOAT
    if loss_mask is not None:
        width += _FLAG
    if advantages is not None:
        width += _FLOAT
    count = length(segment.ids, IDS)
    return count <= recorder.limits.token_segment and count * width + _REST < recorder.look_above
