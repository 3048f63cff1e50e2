"""Reversible spelling of names for libraries that take only some characters.

`@` becomes `_at_`, any other refused character `_x<hex>_`; text that already looks like an escape is escaped itself, so
that no two names ever meet. A name that stays too long is cut and ends in a digest: that one needs the written record of
originals which each backend keeps.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

_ESCAPE = re.compile(r"_at_|_x([0-9a-f]*)_")
_LOOKS_LIKE_ESCAPE = re.compile(r"at_|x[0-9a-f]*_")
_DIGEST = 16


def encode_name(name: str, allowed: Callable[[str], bool], limit: int = 250, *, edges: str = "", reserved: tuple[str, ...] = ()) -> str:
    """Spell `name` with characters for which `allowed` is true, as a normal path of at most `limit` characters. No character of `edges`
    comes first or last, and the spelling begins with none of `reserved`."""
    if not name:
        return "_x_"
    refused = _path_breakers(name) | {place for place in (0, len(name) - 1) if name[place] in edges}
    spelled = ""
    for position in range(len(name) - 1, -1, -1):
        spelled = _spell(name[position], spelled, allowed, position in refused) + spelled
    if reserved and spelled.startswith(reserved):
        spelled = f"_x{ord(spelled[0]):x}_{spelled[1:]}"
    return _cut(name, spelled, limit)


def decode_name(spelled: str) -> str:
    """Return the original of an uncut spelling."""
    return _ESCAPE.sub(_original, spelled)


def mlflow_character(character: str) -> bool:
    """Return whether MLflow takes `character` in names of metrics, parameters and tags of runs."""
    return character in "_./- :" or re.match(r"\w", character) is not None


def _spell(character: str, rest: str, allowed: Callable[[str], bool], refused: bool) -> str:
    if character == "@" and not allowed(character):
        return "_at_"
    if character == "_":
        return "_x5f_" if _LOOKS_LIKE_ESCAPE.match(rest) else character
    return character if allowed(character) and not refused else f"_x{ord(character):x}_"


def _path_breakers(name: str) -> set[int]:
    """Return positions whose character would make `name` differ from its normal path."""
    refused, start = set(), 0
    for part in name.split("/"):
        if part == "":
            refused.add(max(start - 1, 0))
        elif part in {".", ".."}:
            refused.update(range(start, start + len(part)))
        start += len(part) + 1
    return refused


def _original(match: re.Match[str]) -> str:
    code = match.group(1)
    if code is None:
        return "@"
    return chr(int(code, 16)) if code else ""


def _cut(name: str, spelled: str, limit: int) -> str:
    if len(spelled) <= limit:
        return spelled
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{spelled[: limit - _DIGEST - 1]}-{digest}"
