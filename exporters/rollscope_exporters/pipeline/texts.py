"""Token segments: what the wire carries, and text for those the shipper could not decode."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from rollscope import vocabulary as v
from rollscope.tokens import Decoder, TokenizerError, load, pack_ids, unpack_ids

from ..decode import Log
from ..records import TokenSegment
from .readings import UnusableError, integer

_ARRAYS = {
    "logprobs": v.TOKENS_LOGPROBS,
    "loss_mask": v.TOKENS_LOSS_MASK,
    "advantages": v.TOKENS_ADVANTAGES,
    "offsets": v.TOKENS_OFFSETS,
    "tail": v.TOKENS_TAIL,
}
"""Packed fields of a segment that may be absent."""


def segment(log: Log) -> TokenSegment:
    """`rl.trajectory.tokens`. Raises `UnusableError` when there are no ids in it."""
    found = log.attributes
    ids = found.get(v.TOKENS_IDS)
    if not isinstance(ids, bytes) or len(ids) % 4:
        raise UnusableError("token segment without packed ids")
    arrays: dict[str, bytes] = {field: value for field, name in _ARRAYS.items() if isinstance(value := found.get(name), bytes)}
    return TokenSegment(
        span_id=log.span_id,
        time=log.time,
        role=str(found.get(v.TOKENS_ROLE, "output")),
        kept=integer(found.get(v.TOKENS_KEPT)) or 0,
        count=len(ids) // 4,
        ids=ids,
        tokenizer=str(found.get(v.TOKENIZER_DIGEST) or found.get(v.TOKENIZER_NAME) or ""),
        text=text if isinstance(text := found.get(v.TOKENS_TEXT), str) else None,
        undecoded=str(found.get(v.TOKENS_UNDECODED, "")),
        **arrays,
    )


class Texts:
    """Decodes ids that came without text, with the tokenizers that can be had here. Each tokenizer is tried once."""

    def __init__(self, folders: Iterable[Path], loader: Callable[..., Decoder] = load) -> None:
        """`folders` hold registered tokenizers (`<folder>/tokenizers/<digest>…`)."""
        self._folders = list(folders)
        self._load = loader
        self._known: dict[str, Decoder | str] = {}

    def complete(self, segment: TokenSegment, lead: object) -> TokenSegment:
        """Return the segment with its text, or with the reason why there is none. `lead`: the packed ids before it."""
        if segment.text is not None or not segment.tokenizer:
            return segment
        decoder = self._decoder(segment.tokenizer)
        if isinstance(decoder, str):
            return replace(segment, undecoded=segment.undecoded or decoder)
        try:
            decoded = decoder.decode(unpack_ids(lead) if isinstance(lead, bytes) else [], unpack_ids(segment.ids))
        except (TokenizerError, ValueError, OverflowError) as error:
            return replace(segment, undecoded=f"{type(error).__name__}: {error}")
        return replace(segment, text=decoded.text, offsets=pack_ids(decoded.offsets), tail=decoded.tail, undecoded="")

    def _decoder(self, name: str) -> Decoder | str:
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Decoder | str:
        reason = f"tokenizer {name!r} is not to be had here"
        for folder in self._folders:
            try:
                return self._load(name, folder)
            except (TokenizerError, OSError) as error:
                reason = str(error)
        return reason
