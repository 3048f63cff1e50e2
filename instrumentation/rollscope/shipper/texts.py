"""The tokenizers of a node's runs, loaded when their first ids come.

Loading runs code of the user's, and so does decoding with a plain callable: both get a deadline, so that a tokenizer that hangs
costs its own text and nothing else.
"""

from __future__ import annotations

import logging
import math
import time
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ..tokens import Decoded, Decoder, TokenizerError, TooSlowError, Undecoded, in_time, load

_MOST = 4
_TRY_AGAIN = 60.0
_log = logging.getLogger(__name__)

T = TypeVar("T")


class NodeTexts:
    """Decodes ids by digest or name of a tokenizer; a tokenizer that cannot be loaded is tried again after a minute."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._decoders: OrderedDict[str, Decoder] = OrderedDict()
        self._failures: dict[str, tuple[float, str]] = {}

    def decode(self, tokenizer: str | None, lead: list[int], ids: list[int]) -> Decoded | Undecoded:
        """Return the text of `ids` that follow `lead`, or why there is none."""
        if not tokenizer:
            return Undecoded("no tokenizer was given to the run")
        try:
            decoder = self._decoder(tokenizer)
            if decoder.exact:  # a table of ours
                return decoder.decode(lead, ids)
            return self._in_time(tokenizer, lambda: decoder.decode(lead, ids))
        except TokenizerError as error:
            return Undecoded(str(error))

    def _decoder(self, name: str) -> Decoder:
        if name in self._decoders:
            self._decoders.move_to_end(name)
            return self._decoders[name]
        failed_at, reason = self._failures.get(name, (0.0, ""))
        if reason and time.monotonic() - failed_at < _TRY_AGAIN:
            raise TokenizerError(reason)
        self._failures.pop(name, None)
        try:
            decoder = self._in_time(name, lambda: load(name, self._directory))
        except TokenizerError as error:
            self._failures.setdefault(name, (time.monotonic(), str(error)))
            _log.error("token ids stay without text: %s", error)
            raise
        self._decoders[name] = decoder
        if len(self._decoders) > _MOST:
            self._decoders.popitem(last=False)
        return decoder

    def _in_time(self, name: str, call: Callable[[], T]) -> T:
        """Return what `call` returns in time; a tokenizer that hangs is not asked again."""
        try:
            return in_time(name, call)
        except TooSlowError as error:
            self._failures[name] = (math.inf, str(error))
            self._decoders.pop(name, None)
            _log.error("%s and is not used any more", error)
            raise
