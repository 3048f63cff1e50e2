"""Redacting token ids: they decode back to the text, so the ids of what is replaced go with it."""

from __future__ import annotations

from typing import NamedTuple

from .. import vocabulary as v
from ..tokens import Decoded, Undecoded
from ._redactor import REDACTED, Redactor, Withheld, masked

MASKED_ID = -1
"""Stands for an id that was taken out: no tokenizer gives it to anything."""
_UNSEEN = "redaction took the ids out: without their text they cannot be looked at ({})"


class Segment(NamedTuple):
    """Ids and text of a segment, as they may be sent."""

    ids: list[int]
    decoded: Decoded | Undecoded


def segment(redactor: Redactor, ids: list[int], decoded: Decoded | Undecoded, before: str = "") -> Segment:
    """Return a segment redacted; `before` is the text of the few ids before it. Raises `Withheld`.

    Where a pattern matches or a value stands under a matching key, the ids of every token that it touches become `MASKED_ID`; what
    begins in `before` counts as well. A function changes texts in ways that cannot be told from outside, so where it changes the text
    all ids are masked, and so they are where a key names the text or the ids, or where there is no text that patterns or a function
    could look at. What ids are sent before a segment has to be left out by the caller.
    """
    return redactor.whole(lambda: _segment(redactor, ids, decoded, before))


def _segment(redactor: Redactor, ids: list[int], decoded: Decoded | Undecoded, before: str) -> Segment:
    if redactor.matches_key(v.TOKENS_TEXT, v.TOKENS_IDS):
        redactor.replaced["keys"] += 1
        return _all(ids, REDACTED)
    if not redactor.looks_at_text() or not ids:
        return Segment(ids, decoded)
    if isinstance(decoded, Undecoded):
        if not (redactor.patterns or redactor.functions):
            return Segment(ids, decoded)
        redactor.replaced["token ids without text"] += 1
        return Segment([MASKED_ID] * len(ids), Undecoded(_UNSEEN.format(decoded.reason)))
    for function in redactor.functions:
        changed = function(v.TOKENS_TEXT, decoded.text)
        if not isinstance(changed, str):
            raise Withheld(f"redact.function returned a {type(changed).__name__}")
        if changed != decoded.text:
            redactor.replaced["function"] += 1
            return _all(ids, redactor.name(changed))
    keyed, matched = _entries(redactor, before, decoded.text), _matches(redactor, before, decoded.text)
    spans = _joined([*keyed, *matched])
    if not spans:
        return Segment(ids, decoded)
    redactor.replaced["keys"] += len(keyed)
    redactor.replaced["patterns"] += len(matched)
    offsets, kept = _offsets(decoded.offsets, spans), _touched(decoded.offsets, spans)
    clean = [MASKED_ID if touched else id for id, touched in zip(ids, kept, strict=True)]
    return Segment(clean, Decoded(masked(spans, decoded.text), offsets, b"" if kept[-1] else decoded.tail))


def _all(ids: list[int], text: str) -> Segment:
    return Segment([MASKED_ID] * len(ids), Decoded(text, [len(text)] * len(ids), b""))


def _entries(redactor: Redactor, before: str, text: str) -> list[tuple[int, int]]:
    """Parts of `text` that are values under a matching key, which may stand in `before`."""
    found = ((start - len(before), end - len(before)) for start, end in redactor.entries(before + text, v.TOKENS_TEXT))
    return [(max(0, start), end) for start, end in found if end > 0]


def _matches(redactor: Redactor, before: str, text: str) -> list[tuple[int, int]]:
    """Parts of `text` that patterns match, in `before + text` and in `text` alone; ascending and apart."""
    found = []
    for pattern in redactor.patterns:
        whole = ((match.start() - len(before), match.end() - len(before)) for match in pattern.finditer(before + text)) if before else ()
        found += [(max(0, start), end) for start, end in whole if end > 0]
        found += [match.span() for match in pattern.finditer(text)]
    return _joined(found)


def _joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans ascending and apart, empty ones left out."""
    joined: list[tuple[int, int]] = []
    for start, end in sorted(span for span in spans if span[0] < span[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


def _touched(offsets: list[int], spans: list[tuple[int, int]]) -> list[bool]:
    """Return for each token whether a span touches it; a token that completes no character belongs to the one that does."""
    touched = [False] * len(offsets)
    following = False
    for at in range(len(offsets) - 1, -1, -1):
        start, end = offsets[at - 1] if at else 0, offsets[at]
        if start < end:
            following = any(start < span_end and span_start < end for span_start, span_end in spans)
        touched[at] = following
    return touched


def _offsets(offsets: list[int], spans: list[tuple[int, int]]) -> list[int]:
    """Return the ends of the tokens in the text in which each span is replaced."""
    moved = []
    for end in offsets:
        shift, place = 0, end
        for span_start, span_end in spans:
            if end <= span_start:
                break
            place = span_start + shift + len(REDACTED) if end < span_end else end + shift + len(REDACTED) - (span_end - span_start)
            shift += len(REDACTED) - (span_end - span_start)
        moved.append(place)
    return moved
