"""The forms in which a tokenizer is kept in a file, and how each becomes a decoder again."""

from __future__ import annotations

import importlib
import os
import pickle
import sys
from collections.abc import Callable
from functools import reduce
from types import ModuleType
from typing import Any, TypeVar

import msgspec

from ._decoder import Decoder, TokenizerError
from ._prefix import PrefixDecoder
from ._table import TableDecoder
from ._tokenizer_json import table_of

JSON, TABLE, REFERENCE, PICKLE = ".json", ".tokens", ".ref", ".pickle"
_Kept = TypeVar("_Kept")
SUFFIXES = (JSON, TABLE, REFERENCE, PICKLE)


class Form(msgspec.Struct, frozen=True):
    """A tokenizer as bytes; `suffix` says how to read them."""

    suffix: str
    content: bytes

    def decoder(self) -> Decoder:
        """Read it back. Raises `TokenizerError`."""
        return _READERS[self.suffix](self.content)


class _Located(msgspec.Struct):
    """What only works where modules of the program that registered it can be imported."""

    content: bytes
    path: list[str]

    def find_modules(self) -> bytes:
        """Add the places that are not searched yet, behind our own, and return the content."""
        sys.path.extend(place for place in self.path if place not in sys.path)
        return self.content


class _Table(msgspec.Struct):
    pieces: list[bytes | None]
    strip: int = 0


def table_form(pieces: list[bytes | None], strip: int = 0) -> Form:
    """Form of a table id → bytes."""
    return Form(TABLE, msgspec.msgpack.encode(_Table(pieces, strip)))


def located_form(suffix: str, content: bytes) -> Form:
    """Form of a reference or a pickle, with the places where this process finds its modules."""
    return Form(suffix, msgspec.msgpack.encode(_Located(content, [os.path.abspath(place) for place in sys.path])))


def imported(reference: str) -> Any:
    """Return the object that `module:attribute` names. Raises `TokenizerError`."""
    module, _, attribute = reference.partition(":")
    try:
        return reduce(getattr, attribute.split("."), importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise TokenizerError(f"tokenizer {reference!r} cannot be imported: {error}; write it as `module:attribute`") from error


def function_of(tokenizer: Any) -> Callable[[list[int]], str] | None:
    """Return the function ids → text of an object that decodes, special tokens kept where it can be told so."""
    decode = getattr(tokenizer, "decode", None)
    if callable(decode):
        return _keeping_special(decode)
    return tokenizer if callable(tokenizer) else None


def _keeping_special(decode: Callable[..., str]) -> Callable[[list[int]], str]:
    def keeping(ids: list[int]) -> str:
        try:
            return decode(ids, skip_special_tokens=False)
        except TypeError:
            return decode(ids)

    return keeping


def _from_json(content: bytes) -> Decoder:
    if (table := table_of(content)) is not None:
        return table
    try:
        tokenizers: ModuleType = importlib.import_module("tokenizers")
    except ImportError as error:
        raise TokenizerError("this tokenizer.json has a decoder that needs the `tokenizers` package: pip install tokenizers") from error
    tokenizer = tokenizers.Tokenizer.from_str(content.decode())
    return PrefixDecoder(_keeping_special(tokenizer.decode))


def _from_table(content: bytes) -> Decoder:
    table = _read(content, _Table)
    return TableDecoder(table.pieces, table.strip)


def _from_reference(content: bytes) -> Decoder:
    return _prefix(imported(_located(content).find_modules().decode()))


def _from_pickle(content: bytes) -> Decoder:
    try:
        tokenizer = pickle.loads(_located(content).find_modules())
    except Exception as error:
        raise TokenizerError(f"a pickled tokenizer cannot be read here: {type(error).__name__}: {error}") from error
    return _prefix(tokenizer)


def _located(content: bytes) -> _Located:
    return _read(content, _Located)


def _read(content: bytes, kind: type[_Kept]) -> _Kept:
    try:
        return msgspec.msgpack.decode(content, type=kind)
    except msgspec.MsgspecError as error:
        raise TokenizerError(f"the file of a registered tokenizer is damaged: {error}") from error


def _prefix(tokenizer: Any) -> Decoder:
    function = function_of(tokenizer)
    if function is None:
        raise TokenizerError(f"a tokenizer of type {type(tokenizer).__name__} neither decodes nor can be called")
    return PrefixDecoder(function)


_READERS: dict[str, Callable[[bytes], Decoder]] = {
    JSON: _from_json,
    TABLE: _from_table,
    REFERENCE: _from_reference,
    PICKLE: _from_pickle,
}
