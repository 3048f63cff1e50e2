"""What is to be redacted: an argument of `init`, environment variables, or the bridge's section `redact`."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping

import msgspec

from ..errors import ConfigurationError, nearest
from .functions import load_function, place_of

_KEYS, _PATTERNS, _FUNCTION = "ROLLSCOPE_REDACT_KEYS", "ROLLSCOPE_REDACT_PATTERNS", "ROLLSCOPE_REDACT_FUNCTION"
_PLACE = "ROLLSCOPE_REDACT_PLACE"


class Redaction(msgspec.Struct, frozen=True):
    """One setting; empty means that nothing is redacted. It travels in the journal of the process that asked for it."""

    keys: tuple[str, ...] = ()
    """Names whose value is replaced, in any case, `*` for anything: of attributes, and of keys in maps and JSON at any depth."""
    patterns: tuple[str, ...] = ()
    """Regular expressions (Python's `re`); what they match in any text is replaced."""
    function: str = ""
    """`module:function`, called as f(key, text) -> text on every text."""
    place: str = ""
    """Folder that the function's module is imported from, where that is no installed package."""

    def __bool__(self) -> bool:
        return bool(self.keys or self.patterns or self.function)

    @classmethod
    def of(cls, wanted: Mapping[str, object] | Redaction | None, env: Mapping[str, str]) -> Redaction:
        """Join `init(redact={"keys": …, "patterns": …, "function": …})` and the environment; each can only add.

        A function of the argument replaces the environment's. Raises `ConfigurationError` for what cannot work.
        """
        if isinstance(wanted, Redaction):
            wanted = msgspec.structs.asdict(wanted)
        given = dict(wanted or {})
        for name in given.keys() - {"keys", "patterns", "function", "place"}:
            near = nearest(name, ("keys", "patterns", "function"))
            raise ConfigurationError("redact has an unknown key", name, f"use {near or 'keys, patterns, function'}")
        function = given.get("function") or env.get(_FUNCTION, "").strip()
        if not isinstance(function, str):
            raise ConfigurationError(
                "redact.function is no import path", function, "give 'module:function': the shipper, another process, imports it"
            )
        made = cls(
            (*_words(given.get("keys"), "redact.keys"), *_split(env.get(_KEYS, ""), ",")),
            (*_words(given.get("patterns"), "redact.patterns"), *_split(env.get(_PATTERNS, ""), "\n")),
            function,
            env.get(_PLACE, "") if function else "",
        )
        made.check()
        return msgspec.structs.replace(made, place=place_of(function) or made.place) if function else made

    def check(self) -> None:
        """Raise `ConfigurationError` for a pattern that is none or a function that cannot be imported here."""
        for pattern in self.patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ConfigurationError("redact has a pattern that cannot be read", pattern, f"{error}: correct it") from error
        if self.function:
            try:
                load_function(self.function, self.place)
            except ValueError as error:
                raise ConfigurationError(
                    "redact.function cannot be used", self.function, f"{error}: name a function that can be imported"
                ) from error

    def to_environment(self) -> dict[str, str]:
        """Return the variables by which a process that joins the run gets this setting."""
        return {_KEYS: _joined(self.keys), _PATTERNS: _joined(self.patterns), _FUNCTION: self.function, _PLACE: self.place}


def _joined(words: tuple[str, ...]) -> str:
    """JSON, as a pattern may hold line ends and a key commas."""
    return msgspec.json.encode(words).decode() if words else ""


def _split(text: str, by: str) -> tuple[str, ...]:
    with contextlib.suppress(msgspec.DecodeError):  # a list as JSON; text that only begins like one is what people write
        return msgspec.json.decode(text, type=tuple[str, ...])
    return tuple(part for part in (part.strip() for part in text.split(by)) if part)


def _words(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    words = (value,) if isinstance(value, str) else tuple(value) if isinstance(value, Iterable) else (value,)
    if not all(isinstance(word, str) and word for word in words):
        raise ConfigurationError(f"{name} is no list of text", value, 'write it as ["…", "…"]')
    return words
