"""Values under a key in texts that are not JSON as a whole: lines of JSON, what `repr` writes, JSON within prose, JSON that was cut."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

_ENTRY = re.compile(r"""(\\?["'])([^"'\\\n]{1,300})\1\s*[:=]\s*""")
_QUOTE = re.compile(r"""\\?["']""")
_WORD = re.compile(r"""[^\s,;}\])"']+""")
_JSON = json.JSONDecoder()


def entries(text: str, is_secret: Callable[[str], bool]) -> list[tuple[int, int]]:
    """Return where values of secret keys stand, as in `"key": value` and `'key': value`: (start, end) within quotes, ascending, apart.

    A value that does not end reaches to the end of the text: it was cut.
    """
    found = []
    at = 0
    while match := _ENTRY.search(text, at):
        at = match.end()
        if is_secret(match[2]):
            start, at = _value(text, at)
            if start < at:
                found.append((start, at))
    return found


def _value(text: str, at: int) -> tuple[int, int]:
    """Return the part of a value at `at` that is to be hidden."""
    if quote := _QUOTE.match(text, at):
        return quote.end(), _end_of_string(text, quote.end(), quote.group())
    if text[at : at + 1] in ("{", "["):
        try:
            return at, _JSON.raw_decode(text, at)[1]
        except (ValueError, RecursionError):
            return at, len(text)
    word = _WORD.match(text, at)
    return at, word.end() if word else at


def _end_of_string(text: str, at: int, quote: str) -> int:
    """Return where the closing quote stands, one that is escaped not counted."""
    while (end := text.find(quote, at)) >= 0:
        escapes = end - len(text[:end].rstrip("\\"))
        if escapes % 2 == 0:
            return end
        at = end + len(quote)
    return len(text)
