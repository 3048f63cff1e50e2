"""What a decoder is and gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class TokenizerError(ValueError):
    """When a tokenizer cannot be found, read or written; says which and what would help."""


class Decoded(NamedTuple):
    """The text of one segment of ids."""

    text: str
    """Special tokens visible. A character belongs to the segment that completes it; invalid bytes are U+FFFD."""
    offsets: list[int]
    """End of each token in `text`, in characters, shape `(tokens,)`; a token that completes no character adds none."""
    tail: bytes
    """Bytes of a character that the segment leaves unfinished, at most three."""


class Undecoded(NamedTuple):
    """Why ids have no text."""

    reason: str


class Decoder(Protocol):
    """Stateless: a segment is decoded from itself and a few ids before it, in any process and any order."""

    exact: bool
    """Whether offsets and cut characters are exact; a plain callable can only be asked for the text of prefixes."""

    def decode(self, lead_ids: Sequence[int], ids: Sequence[int]) -> Decoded:
        """Decode `ids` that follow `lead_ids` in their stream (up to 8 ids, fewer only at its beginning).

        Concatenated over consecutive segments, the texts and the last tail make what decoding the whole stream gives.
        Raises `TokenizerError` when a callable fails.
        """
