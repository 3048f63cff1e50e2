"""`Tokens` → OTLP log record `rl.trajectory.tokens`: arrays packed, text decoded where the tokenizer can be had."""

from __future__ import annotations

from typing import Protocol

from ... import vocabulary as v
from ...records import Tokens
from ...redact import Redactor, segment
from ...tokens import Decoded, Undecoded, pack_bits, pack_floats, pack_ids, unpack_ids
from .logs import log_record, numbered

_DIGEST_LENGTH = 32


class Texts(Protocol):
    """Gives the text of token ids."""

    def decode(self, tokenizer: str | None, lead: list[int], ids: list[int]) -> Decoded | Undecoded:
        """Decode `ids` that follow `lead`, or say why not."""


def tokens(
    record: Tokens, producer: str, sequence: int, texts: Texts, redactor: Redactor | None = None, *, with_text: bool = True
) -> bytes:
    """Return the encoded `LogRecord` of one segment. Raises `ValueError` or `struct.error` for ids that are no int32.

    With a redactor the ids before the segment, which belong to others, stay behind. Raises `Withheld`.
    """
    ids, lead = unpack_ids(record.ids), unpack_ids(record.lead)
    decoded = texts.decode(record.tokenizer, lead, ids)
    if redactor is not None:
        before = texts.decode(record.tokenizer, [], lead) if lead else None
        ids, decoded = segment(redactor, ids, decoded, before.text if isinstance(before, Decoded) else "")
        lead = []
    if not with_text and isinstance(decoded, Decoded):
        decoded = Undecoded("the segment is too long to carry its text")
    attributes: dict[str, object] = {
        **record.attributes,
        v.TOKENS_ROLE: record.role,
        v.TOKENS_KEPT: record.kept,
        v.TOKENS_COUNT: len(ids),
        v.TOKENS_LEAD: pack_ids(lead),
        v.TOKENS_IDS: pack_ids(ids),
    }
    _put_arrays(attributes, record)
    _put_text(attributes, decoded)
    if record.tokenizer:
        attributes[v.TOKENIZER_DIGEST if _is_digest(record.tokenizer) else v.TOKENIZER_NAME] = record.tokenizer
    attributes.update(numbered(producer, sequence))
    return log_record(v.EVENT_TOKENS, record.time, attributes, trace_id=record.trace_id, span_id=record.span_id)


def _put_arrays(attributes: dict[str, object], record: Tokens) -> None:
    if record.logprobs is not None:
        attributes[v.TOKENS_LOGPROBS] = pack_floats(record.logprobs)
    if record.loss_mask is not None:
        attributes[v.TOKENS_LOSS_MASK] = pack_bits(record.loss_mask)
    if record.advantages is not None:
        attributes[v.TOKENS_ADVANTAGES] = pack_floats(record.advantages)


def _put_text(attributes: dict[str, object], decoded: Decoded | Undecoded) -> None:
    if isinstance(decoded, Undecoded):
        attributes[v.TOKENS_UNDECODED] = decoded.reason
        return
    attributes[v.TOKENS_TEXT] = decoded.text
    attributes[v.TOKENS_OFFSETS] = pack_ids(decoded.offsets)
    if decoded.tail:
        attributes[v.TOKENS_TAIL] = decoded.tail


def _is_digest(name: str) -> bool:
    return len(name) == _DIGEST_LENGTH and all(digit in "0123456789abcdef" for digit in name)
