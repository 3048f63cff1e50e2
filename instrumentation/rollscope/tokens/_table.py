"""Decoding by a table id → bytes: byte-level BPE, byte fallback and tiktoken all come down to it."""

from __future__ import annotations

import codecs
from collections.abc import Sequence
from itertools import accumulate

from ._decoder import Decoded

UNKNOWN = b"\xff"
"""Stands for an id outside the table; never valid in UTF-8, so it becomes U+FFFD."""

_utf8 = codecs.getincrementaldecoder("utf-8")
_LONGEST_CUT = 3
"""Bytes that an unfinished character can have."""


class TableDecoder:
    """Decoder over `pieces`, bytes by id (None where there is no such id).

    `strip` is the number of spaces that the tokenizer puts before the first token of a text and takes away again.
    """

    exact = True

    def __init__(self, pieces: Sequence[bytes | None], strip: int = 0) -> None:
        self.pieces = [UNKNOWN if piece is None else piece for piece in pieces]
        self.strip = strip
        self._starts = [_characters_begun(piece) for piece in self.pieces]
        self._continuing = frozenset(index for index, piece in enumerate(self.pieces) if piece and piece[0] & 0xC0 == 0x80)
        self._empty = frozenset(index for index, piece in enumerate(self.pieces) if not piece)

    def decode(self, lead_ids: Sequence[int], ids: Sequence[int]) -> Decoded:
        """See `Decoder.decode`."""
        cut = _unfinished(b"".join(self._bytes_of(lead_ids)))
        pieces = self._bytes_of(ids)
        removed = 0
        if self.strip and pieces and not lead_ids:
            removed = min(self.strip, len(pieces[0]) - len(pieces[0].lstrip(b" ")))
            pieces[0] = pieces[0][removed:]
        return self._decode_valid(cut, pieces, ids, removed) or _decode_bytewise(cut, pieces)

    def _bytes_of(self, ids: Sequence[int]) -> list[bytes]:
        if ids and min(ids) >= 0 and max(ids) < len(self.pieces):
            return list(map(self.pieces.__getitem__, ids))
        return [self.pieces[index] if 0 <= index < len(self.pieces) else UNKNOWN for index in ids]

    def _decode_valid(self, cut: bytes, pieces: list[bytes], ids: Sequence[int], removed: int) -> Decoded | None:
        """Return text that is valid UTF-8 up to its tail, offsets being sums of characters begun; None when it is not valid."""
        stream = cut + b"".join(pieces)
        tail = _unfinished(stream)
        try:
            text = stream[: len(stream) - len(tail)].decode()
        except UnicodeDecodeError:
            return None
        offsets = list(accumulate(map(self._starts.__getitem__, ids), initial=bool(cut) - removed))[1:]
        if tail or not self._continuing.isdisjoint(ids):
            self._leave_to_completer(offsets, ids, bool(tail))
        return Decoded(text, offsets, tail)

    def _leave_to_completer(self, offsets: list[int], ids: Sequence[int], inside: bool) -> None:
        """Take from every token the character that a later one goes on with; `inside` when the last one is unfinished."""
        for position in range(len(ids) - 1, -1, -1):
            offsets[position] -= inside
            if ids[position] not in self._empty:
                inside = ids[position] in self._continuing


def _decode_bytewise(cut: bytes, pieces: list[bytes]) -> Decoded:
    decoder = _utf8("replace")
    decoder.decode(cut)
    texts = [decoder.decode(piece) for piece in pieces]
    return Decoded("".join(texts), list(accumulate(map(len, texts))), decoder.getstate()[0])


def _unfinished(stream: bytes) -> bytes:
    """Return bytes at the end of `stream` that begin a character; the last three decide, as only lead bytes begin one."""
    decoder = _utf8("replace")
    decoder.decode(stream[-_LONGEST_CUT:])
    return decoder.getstate()[0]


def _characters_begun(piece: bytes) -> int:
    return len(piece) if piece.isascii() else sum(byte & 0xC0 != 0x80 for byte in piece)
