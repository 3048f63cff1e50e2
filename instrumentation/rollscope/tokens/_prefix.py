"""Decoding by a plain callable ids → text, for tokenizers that offer nothing better. Best effort."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ._decoder import Decoded, TokenizerError

_REPLACEMENT = "\ufffd"


class PrefixDecoder:
    """Decoder over `function`, which gives the text of a list of ids.

    A character cut between tokens shows as U+FFFD at the end of a prefix and is left to the token that completes it; whether
    U+FFFD stood there for an invalid byte cannot be told, and the bytes of a cut character are not known: `exact` is False.
    """

    exact = False

    def __init__(self, function: Callable[[list[int]], str]) -> None:
        self._function = function

    def decode(self, lead_ids: Sequence[int], ids: Sequence[int]) -> Decoded:
        """See `Decoder.decode`."""
        lead = list(lead_ids)
        before = self._settled(self._text(lead)) if lead else ""
        # Offsets by prefixes cost one call a token; a window of the lead's size keeps each call short.
        whole = self._text(lead + list(ids))
        text = whole[len(before) :]
        offsets = self._offsets(lead, list(ids), text)
        settled = self._settled(text)
        return Decoded(settled, [min(offset, len(settled)) for offset in offsets], b"")

    def _offsets(self, lead: list[int], ids: list[int], text: str) -> list[int]:
        offsets: list[int] = []
        window, base, done = lead, self._settled(self._text(lead)) if lead else "", 0
        for index in ids:
            window = [*window, index]
            grown = self._settled(self._text(window))
            done = min(len(text), done + max(0, len(grown) - len(base)))
            offsets.append(done)
            if len(window) > 2 * _WINDOW:
                window = window[-_WINDOW:]
                grown = self._settled(self._text(window))
            base = grown
        if offsets:
            offsets[-1] = len(text)
        return offsets

    def _text(self, ids: list[int]) -> str:
        try:
            return str(self._function(ids))
        except Exception as error:
            raise TokenizerError(f"the tokenizer's function raised {type(error).__name__}: {error}") from error

    @staticmethod
    def _settled(text: str) -> str:
        return text.rstrip(_REPLACEMENT)


_WINDOW = 16
