"""Make any value fit for a record: the slow path, taken when the encoder refuses a record or it is too large.

What becomes what: numpy and CPU torch scalars their number, arrays of moderate size lists, sets and tuples lists, enums their value;
lone surrogates U+FFFD, integers beyond 64 bits their decimal string, unknown objects a bounded `repr`. NaN, Inf and NUL stay. A tensor on a
device is described, not read: reading it would wait for the GPU. Each replacement that loses something is reported by kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Set
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Any

from ..interruption import pass_on
from .gate import report

if TYPE_CHECKING:
    from ..settings import Limits

__all__ = ["SCALARS", "Sanitiser"]

SCALARS: frozenset[type] = frozenset({str, int, float, bool, bytes, type(None)})
"""Exact types that the encoder takes as they are."""

_INT64 = 1 << 63
_IDENTITY = 32
"""Room for identity attributes beyond the limit."""
Note = Callable[[str, str], None]


class Sanitiser:
    """Cleans the values of one record and remembers whether anything was lost."""

    __slots__ = ("_bytes_limit", "_limits", "_note", "lossy")

    def __init__(self, limits: Limits, note: Note | None = None, *, bytes_limit: int | None = None) -> None:
        """`note(kind, message)` is told of what is lost; unless given, it is reported."""
        self._limits = limits
        self._note = note or _report
        self._bytes_limit = bytes_limit
        self.lossy = False

    def attributes(self, attributes: Mapping[Any, object]) -> dict[str, object]:
        """Return a clean copy of a map of attributes. Over the limit, those in the middle go: identity was set last."""
        items = list(attributes.items())
        most = self._limits.attributes
        if len(items) > most + _IDENTITY:
            self._lose("many_attributes", f"a record has {len(items)} attributes, {most + _IDENTITY} are kept")
            items[most:-_IDENTITY] = []
        return {self.name(key): self.value(value) for key, value in items}

    def name(self, name: object) -> str:
        """Return a clean name of bounded length."""
        text = self._unicode(name if isinstance(name, str) else self._describe(name))
        if len(text) <= self._limits.name_length:
            return text
        self._lose("long_name", f"a name has {len(text)} characters")
        return text[: self._limits.name_length]

    def text(self, text: str, limit: int | None = None) -> str:
        """Return clean text of bounded length."""
        most = self._limits.value_length if limit is None else limit
        if len(text) > most:
            self._lose("long_value", f"a string has {len(text)} characters, {most} are kept")
            text = text[:most]
        return self._unicode(text)

    def said(self, value: object) -> str:
        """Return clean text of bounded length for what should have been text."""
        return self.text(value if isinstance(value, str) else self._describe(value))

    def value(self, value: object, depth: int = 0) -> object:
        """Return a clean copy of any value."""
        kind = type(value)
        if kind is str:
            return self.text(value)  # type: ignore[arg-type]
        if kind is int:
            return self._integer(value)  # type: ignore[arg-type]
        if kind in SCALARS:
            return self._bytes(value) if kind is bytes else value  # type: ignore[arg-type]
        if isinstance(value, Mapping | list | tuple | Set):
            return self._container(value, depth)
        return self._other(value, depth)

    def _container(self, value: Mapping[Any, object] | Iterable[object], depth: int) -> object:
        if depth >= self._limits.depth:
            self._lose("deep_value", f"a value is nested deeper than {self._limits.depth} (or in itself)")
            return "…"
        most = self._limits.items
        if isinstance(value, Mapping):
            pairs = list(islice(list(value.items()), most))
            self._check_items(len(value))
            return {self.name(key): self.value(item, depth + 1) for key, item in pairs}
        items = list(value)
        self._check_items(len(items))
        return [self.value(item, depth + 1) for item in items[:most]]

    def _check_items(self, count: int) -> None:
        if count > self._limits.items:
            self._lose("many_items", f"a list or map has {count} elements, {self._limits.items} are kept")

    def _other(self, value: Any, depth: int) -> object:
        if isinstance(value, Enum):
            return self.value(value.value, depth + 1)
        for plain in (int, float, str):
            if isinstance(value, plain):
                return self.value(plain(value), depth)
        if isinstance(value, bytes | bytearray | memoryview):
            return self._bytes(bytes(value))
        if hasattr(value, "dtype") and hasattr(value, "shape"):
            return self._array(value, depth)
        return self._describe(value)

    def _bytes(self, value: bytes) -> bytes:
        if self._bytes_limit is None or len(value) <= self._bytes_limit:
            return value
        self._lose("long_value", f"a byte string has {len(value)} bytes, {self._bytes_limit} are kept")
        return value[: self._bytes_limit]

    def _integer(self, value: int) -> object:
        if -_INT64 <= value < _INT64:
            return value
        self._lose("big_integer", "an integer beyond 64 bits became a string")
        return str(value) if value.bit_length() < 4096 else self.text(hex(value), self._limits.repr_length)

    def _array(self, value: Any, depth: int) -> object:
        """Read an array that lies in this process's memory; describe any other."""
        if not _in_memory(value):
            self._lose("device_tensor", "a tensor on a device was described, not read: call .item() or .tolist() yourself")
            return _describe_array(value)
        size = 1
        for side in value.shape:
            size *= int(side)
        if size > self._limits.items:
            self._lose("many_items", f"an array has {size} elements")
            return _describe_array(value)
        plain = value.tolist()
        if type(plain) in SCALARS or isinstance(plain, list):
            return self.value(plain, depth)
        return self._number(plain)

    def _number(self, value: Any) -> object:
        """Read a scalar that has no exact Python form: long double, complex, datetime64."""
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return self.text(str(value), self._limits.repr_length)

    def _describe(self, value: object) -> str:
        self._lose("unknown_object", f"a value of type {type(value).__module__}.{type(value).__qualname__} became its repr")
        try:
            text = repr(value)
        except Exception as error:  # noqa: BLE001  # a foreign __repr__ may raise anything; its type says what happened
            pass_on(error)
            text = f"<{type(value).__qualname__}, repr failed: {type(error).__name__}>"
        return self._unicode(text[: self._limits.repr_length])

    def _unicode(self, text: str) -> str:
        try:
            text.encode()
        except UnicodeEncodeError:
            self._lose("surrogate", "a string holds a lone surrogate; it became U+FFFD")
            return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return str(text)

    def _lose(self, kind: str, message: str) -> None:
        self.lossy = True
        self._note(kind, message)


def _report(kind: str, message: str) -> None:
    report("truncated", kind, message)


def _in_memory(value: Any) -> bool:
    module = type(value).__module__.partition(".")[0]
    if module == "torch":
        return str(getattr(value, "device", "")) == "cpu"
    return module == "numpy"


def _describe_array(value: Any) -> str:
    device = getattr(value, "device", None)
    place = f" device={device}" if device is not None else ""
    return f"<{type(value).__name__} shape={tuple(value.shape)} dtype={value.dtype}{place}>"
