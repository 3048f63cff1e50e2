"""Redacting plain values: texts, maps, lists, and JSON within texts."""

from __future__ import annotations

import fnmatch
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ..settings import Redaction
from ..settings.functions import Transform, load_function
from ._deadline import Deadline, TooLong
from ._entries import entries
from ._kept import EVENTS, KEPT, OWN

T = TypeVar("T")

REDACTED = "[redacted]"
MASKED = REDACTED.encode()
_DEEPEST = 32
_BOM = "\ufeff"
_decode_json = msgspec.json.Decoder().decode
_encode_json = msgspec.json.Encoder().encode


class Withheld(Exception):
    """When a record could not be redacted: it must not be sent. The message holds nothing of the record."""


class Redactor:
    """Applies settings. Not thread-safe. Raises `ValueError` for a function that cannot be had."""

    def __init__(self, *redactions: Redaction) -> None:
        keys = dict.fromkeys(key for redaction in redactions for key in redaction.keys)
        patterns = dict.fromkeys(pattern for redaction in redactions for pattern in redaction.patterns)
        functions = {redaction.function: redaction.place for redaction in redactions if redaction.function}
        self._keys = re.compile("|".join(fnmatch.translate(key) for key in keys), re.IGNORECASE) if keys else None
        self.patterns = [re.compile(pattern) for pattern in patterns]
        self.functions: list[Transform] = [load_function(name, place) for name, place in functions.items()]
        self.replaced: Counter[str] = Counter()
        """Values replaced, by what found them: `keys`, `patterns`, `function`."""
        self._deadline = Deadline()
        self._known_keys: dict[str, bool] = {}

    def whole(self, work: Callable[[], T]) -> T:
        """Return what `work` returns: the redaction of one record, within the deadline. Raises `Withheld`."""
        before = self.replaced.copy()
        try:
            with self._deadline:
                return work()
        except TooLong:
            reason = "took too long"
        except KeyboardInterrupt:
            raise
        except Withheld as error:
            reason = str(error)
        except BaseException as error:  # noqa: BLE001  # a user's function may raise anything
            reason = type(error).__name__
        self.replaced = before
        raise Withheld(f"redaction failed: {reason}")

    def attributes(self, attributes: Mapping[str, Any]) -> dict[str, Any]:
        """Return attributes with their values, and what patterns match in their names, replaced."""
        return {self.name(name): self._attribute(name, value) for name, value in attributes.items()}

    def text(self, key: str, text: str) -> str:
        """Return a text; one that is JSON is looked into, and stays JSON."""
        return self._text(key, text, key, 0)

    def name(self, name: str) -> str:
        """Return a name, such as a span's; the function does not see it."""
        return name if name in OWN else self._match(name)

    def event_name(self, name: str) -> str:
        """Return an event's name; those of the vocabulary stay."""
        return name if name in EVENTS else self.name(name)

    def entries(self, text: str, path: str) -> list[tuple[int, int]]:
        """Return where in a text that is not JSON as a whole values of matching keys stand."""
        return entries(text, lambda name: self.matches_key(name, f"{path}.{name}")) if self._keys else []

    def matches_key(self, *names: str) -> bool:
        """Return whether the value under any of `names` is to be replaced."""
        return self._keys is not None and any(self._is_key(name) for name in names)

    def _attribute(self, name: str, value: Any) -> Any:
        if name in KEPT:
            return value
        if self.matches_key(name):
            return self._mask(value, "keys")
        return self._value(name, value, name, 0, numbers=name not in OWN)

    def _value(self, key: str, value: Any, path: str, depth: int, *, numbers: bool) -> Any:
        kind = type(value)
        if kind is str:
            return self._text(key, value, path, depth)
        if kind is bool or value is None:
            return value
        if kind is bytes:
            return self._bytes(key, value, path, depth) if numbers else value
        if kind is int or kind is float:
            return self._number(value) if numbers else value
        if depth > _DEEPEST:
            raise Withheld("nested too deeply")
        if isinstance(value, Mapping):
            called = _called(value)
            return {
                self.name(str(name)): self._entry(str(name), item, path, depth, called if name == "value" else "", numbers=numbers)
                for name, item in value.items()
            }
        if isinstance(value, (list, tuple)):
            return kind(self._value(key, item, path, depth + 1, numbers=numbers) for item in value)
        return value

    def _entry(self, name: str, value: Any, path: str, depth: int, called: str, *, numbers: bool) -> Any:
        inner = f"{path}.{name}"
        if self.matches_key(name, inner) or (called and self.matches_key(called, f"{path}.{called}")):
            return self._mask(value, "keys")
        return self._value(name, value, inner, depth + 1, numbers=numbers)

    def _text(self, key: str, text: str, path: str, depth: int) -> str:
        if (found := _json_in(text)) is not None:
            clean = self._value(key, found, path, depth + 1, numbers=True)
            # A pattern may be written for the text as it stands, keys and quotes included.
            return self._match(text if clean == found else _as_json(clean))
        spans = self.entries(text, path)
        self.replaced["keys"] += len(spans)
        text = masked(spans, text)
        for function in self.functions:
            changed = function(key, text)
            if not isinstance(changed, str):
                raise Withheld(f"redact.function returned a {type(changed).__name__}")
            if changed != text:
                self.replaced["function"] += 1
            text = changed
        return self._match(text)

    def _bytes(self, key: str, value: bytes, path: str, depth: int) -> bytes:
        """Look at bytes that are text. Those under a name of the vocabulary are packed numbers, or seen to elsewhere."""
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return value
        clean = self._text(key, text, path, depth)
        return value if clean == text else clean.encode("utf-8", "replace")

    def _match(self, text: str) -> str:
        for pattern in self.patterns:
            text, found = pattern.subn(_replacement, text)
            if found and REDACTED in text:
                self.replaced["patterns"] += found
        return text

    def _number(self, value: int | float) -> Any:
        text = str(value)
        return self._mask(value, "patterns") if any(pattern.search(text) for pattern in self.patterns) else value

    def _mask(self, value: Any, by: str) -> Any:
        self.replaced[by] += 1
        return MASKED if isinstance(value, bytes) else REDACTED

    def _is_key(self, name: str) -> bool:
        known = self._known_keys.get(name)
        if known is None:
            assert self._keys is not None, "asked for where there are keys"
            if len(self._known_keys) > 10_000:
                self._known_keys.clear()
            known = self._known_keys[name] = self._keys.match(name) is not None
        return known

    def looks_at_text(self) -> bool:
        """Return whether there is anything to find in texts."""
        return bool(self._keys or self.patterns or self.functions)


def _called(entry: Mapping[Any, Any]) -> str:
    """Return what a map calls its `value`: `{"name": "password", "value": …}`, as headers and environments are listed."""
    return next((name for key in ("name", "key") if isinstance(name := entry.get(key), str)), "") if "value" in entry else ""


def masked(spans: Sequence[tuple[int, int]], text: str) -> str:
    """Return `text` with each of `spans` (start, end; ascending, apart) replaced."""
    parts, at = [], 0
    for start, end in spans:
        parts += [text[at:start], REDACTED]
        at = end
    return "".join([*parts, text[at:]])


def _json_in(text: str) -> Any:
    """Return what a text says that is JSON of some structure; None for any other."""
    if not (text[:1] in ("{", "[", '"', _BOM) or text[:1].isspace()):
        return None
    text = text.removeprefix(_BOM)
    try:
        found = _decode_json(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            found = json.loads(text)  # what Python's own `json` writes is more than JSON: NaN, halves of a surrogate pair
        except (ValueError, RecursionError):
            return None
    return found if isinstance(found, (dict, list, str)) else None


def _as_json(value: Any) -> str:
    try:
        return _encode_json(value).decode()
    except UnicodeError:  # half of a surrogate pair
        return json.dumps(value)


def _replacement(match: re.Match[str]) -> str:
    return REDACTED if match.group() else ""
