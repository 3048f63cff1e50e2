"""Token segments: what the wire carries, and text for those the shipper could not decode."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from pathlib import Path

from msgspec.structs import replace

from rollscope import vocabulary as v
from rollscope.tokens import Decoded, Decoder, TokenizerError, TooSlowError, in_time, load, pack_ids, unpack_ids

from ..decode import Log, integer
from ..records import TokenSegment
from .readings import UnusableError

log = logging.getLogger("rollscope.pipeline")

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
    """Decodes ids that came without text, with the tokenizers that can be had here. Each tokenizer is tried once.

    Loading one runs code of the user's, and so may decoding: what hangs costs its own text, and the pipeline a minute, once.
    """

    def __init__(
        self, folders: Iterable[Path], loader: Callable[..., Decoder] = load, still_alive: Callable[[], None] = lambda: None
    ) -> None:
        """`folders` hold registered tokenizers (`<folder>/tokenizers/<digest>…`). `still_alive` is called before whatever may take long."""
        self._folders = list(folders)
        self._load = loader
        self._still_alive = still_alive
        self._known: dict[str, Decoder | str] = {}

    def complete(self, segment: TokenSegment, lead: object) -> TokenSegment:
        """Return the segment with its text, or with the reason why there is none. `lead`: the packed ids before it."""
        if segment.text is not None or not segment.tokenizer or TooSlowError.is_reason(segment.undecoded):
            return segment
        decoder = self._decoder(segment.tokenizer)
        if isinstance(decoder, str):
            return replace(segment, undecoded=segment.undecoded or decoder)
        try:
            decoded = self._decode(segment, decoder, unpack_ids(lead) if isinstance(lead, bytes) else [])
        except TooSlowError as error:
            log.error("%s and is not used any more", error)
            self._known[segment.tokenizer] = str(error)
            return replace(segment, undecoded=str(error))
        except (TokenizerError, ValueError, OverflowError) as error:
            return replace(segment, undecoded=f"{type(error).__name__}: {error}")
        return replace(segment, text=decoded.text, offsets=pack_ids(decoded.offsets), tail=decoded.tail, undecoded="")

    def _decode(self, segment: TokenSegment, decoder: Decoder, lead: list[int]) -> Decoded:
        ids = unpack_ids(segment.ids)
        if decoder.exact:  # a table of ours
            return decoder.decode(lead, ids)
        self._still_alive()
        return in_time(segment.tokenizer, lambda: decoder.decode(lead, ids))

    def _decoder(self, name: str) -> Decoder | str:
        if name not in self._known:
            self._known[name] = self._find(name)
        return self._known[name]

    def _find(self, name: str) -> Decoder | str:
        reason = f"tokenizer {name!r} is not to be had here"
        for folder in self._folders:
            self._still_alive()
            try:
                return in_time(name, lambda folder=folder: self._load(name, folder))  # type: ignore[misc]
            except (TokenizerError, OSError) as error:
                reason = str(error)
        return reason
