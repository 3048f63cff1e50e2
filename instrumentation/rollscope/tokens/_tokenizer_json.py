"""HuggingFace `tokenizer.json` → table of bytes, without the `tokenizers` package.

Only vocabulary, added tokens and decoder are read. Decoders that look at more than one token have no table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec

from ._decoder import TokenizerError
from ._table import TableDecoder

_BYTE_TOKEN = re.compile(r"<0x([0-9A-Fa-f]{2})>")
_METASPACE = "▁"
_UNMAPPED = 0x10FFFF
"""A character Latin-1 cannot hold: marks those outside the byte alphabet."""


class _AddedToken(msgspec.Struct):
    id: int
    content: str


class _Model(msgspec.Struct):
    vocab: dict[str, int] | list[tuple[str, float]] = {}


class _File(msgspec.Struct):
    model: _Model
    added_tokens: list[_AddedToken] = []
    decoder: dict[str, Any] | None = None


class _Rules(msgspec.Struct):
    """What the file's decoder does to one token."""

    replace: list[tuple[str, str]] = []
    byte_level: bool = False
    byte_fallback: bool = False
    strip: int = 0


def table_of(data: bytes) -> TableDecoder | None:
    """Return the table decoder of a `tokenizer.json`, None when its decoder needs more than a table.

    Raises `TokenizerError` when `data` is no such file.
    """
    try:
        file = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError as error:
        raise TokenizerError(f"no tokenizer.json of HuggingFace tokenizers: {error}") from error
    rules = _rules(file.decoder)
    if rules is None:
        return None
    tokens = _by_id(file)
    to_bytes = _byte_level if rules.byte_level else _text_rule(rules)
    pieces: list[bytes | None] = [None] * (max(tokens, default=-1) + 1)
    for index, token in tokens.items():
        pieces[index] = to_bytes(token)
    return TableDecoder(pieces, rules.strip)


def _by_id(file: _File) -> dict[int, str]:
    vocab = file.model.vocab
    by_token = vocab if isinstance(vocab, dict) else {token: index for index, (token, _) in enumerate(vocab)}
    tokens = {index: token for token, index in by_token.items() if index >= 0}
    return tokens | {token.id: token.content for token in file.added_tokens if token.id >= 0}


def _rules(decoder: dict[str, Any] | None) -> _Rules | None:
    if decoder is None:
        return None
    rules = _Rules()
    steps = decoder.get("decoders", []) if decoder.get("type") == "Sequence" else [decoder]
    return rules if steps and all(_take(rules, step) for step in steps) else None


def _take(rules: _Rules, step: dict[str, Any]) -> bool:
    """Add one step to `rules`; False for one that a table cannot do."""
    kind = step.get("type")
    if kind == "ByteLevel":
        rules.byte_level = True
    elif kind == "ByteFallback":
        rules.byte_fallback = True
    elif kind == "Metaspace":
        rules.replace.append((step.get("replacement", _METASPACE), " "))
        rules.strip = 0 if step.get("prepend_scheme", "always") == "never" else 1
    elif kind == "Replace" and "String" in step.get("pattern", {}):
        rules.replace.append((step["pattern"]["String"], step["content"]))
    elif kind == "Strip" and step.get("content") == " " and not step.get("stop"):
        rules.strip = int(step.get("start", 0))
    else:
        return kind == "Fuse"
    return True


def _text_rule(rules: _Rules) -> Callable[[str], bytes]:
    def to_bytes(token: str) -> bytes:
        if rules.byte_fallback and (match := _BYTE_TOKEN.fullmatch(token)):
            return bytes((int(match[1], 16),))
        for old, new in rules.replace:
            token = token.replace(old, new)
        return token.encode(errors="replace")

    return to_bytes


def _byte_level(token: str) -> bytes:
    try:
        return token.translate(_byte_alphabet()).encode("latin-1")
    except UnicodeEncodeError:
        return token.encode(errors="replace")  # an added token that stands as text


@lru_cache(maxsize=1)
def _byte_alphabet() -> dict[int, int]:
    """Code point → byte, as GPT-2 writes bytes: printable ones as themselves, the others from 256 on, in order."""
    themselves = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = [byte for byte in range(256) if byte not in themselves]
    return dict.fromkeys(others, _UNMAPPED) | {256 + place: byte for place, byte in enumerate(others)}
