"""JSON of whatever user code hands over: messages, tool arguments and results, table rows.

`msgspec` writes plain values, dataclasses and enums at about 1 GB/s; pydantic models, numpy values and unknown objects pass a hook. Only
what the fast encoder refuses (a lone surrogate, an integer beyond 64 bits, a list within itself) is copied and cleaned first.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

import msgspec

from .importing import importing
from .interruption import pass_on
from .recorder import Sanitiser, report

if TYPE_CHECKING:
    from .settings import Limits

__all__ = ["fit", "json_bytes", "json_text"]

_UTF8_FACTOR = 1.25
"""Input, output and tools of one call fit into one record (1 MiB) in any script."""
_CUT_FACTOR = 4
_SHORTEST_CUT = 16


def json_bytes(value: object) -> bytes:
    """Return `value` as JSON in UTF-8. Objects that are no JSON become what they dump, or their bounded `repr`; nothing raises."""
    try:
        return _encode(value)
    except Exception as error:  # noqa: BLE001  # also what a foreign object raises while it is looked at: the careful way reports it
        pass_on(error)
        return _dumps(_clean(value)).encode()


def json_text(value: object, limit: int) -> str:
    """Return `value` as JSON text within `limit`, see `fit`."""
    return fit(json_bytes(value), limit)


def fit(encoded: bytes, limit: int) -> str:
    """Return JSON as text of at most `limit` characters and a quarter more bytes; it stays JSON.

    What is over has its long strings cut, each saying how much is missing, and is reported; what is over even so becomes empty.
    """
    if len(encoded) <= limit:
        return encoded.decode()
    text = encoded.decode()
    if len(text) <= limit and len(encoded) <= _UTF8_FACTOR * limit:
        return text
    report("truncated", "long_value", f"a value has {len(text)} characters of JSON, {limit} are kept")
    value, most = _json().loads(text), limit // 2
    while most >= _SHORTEST_CUT:
        shorter = _dumps(_shorten(value, most))
        if len(shorter) <= limit and len(shorter.encode()) <= _UTF8_FACTOR * limit:
            return shorter
        most //= _CUT_FACTOR
    return _dumps(type(value)())


def _dumps(value: object) -> str:
    dumped: str = _json().dumps(value, ensure_ascii=False, separators=(",", ":"))
    return dumped


def _json() -> ModuleType:
    """Return what also takes integers beyond 64 bits as they are; 3 ms that `import rollscope` does not pay."""
    with importing:
        import json

    return json


def _shorten(value: Any, most: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}…[{len(value) - most} characters not recorded]"
    if isinstance(value, dict):
        return {key: _shorten(item, most) for key, item in value.items()}
    if isinstance(value, list):
        return [_shorten(item, most) for item in value]
    return value


def _hook(value: Any) -> object:
    try:
        return _content(value)
    except Exception as error:  # noqa: BLE001  # a foreign object may raise anything when it is looked at
        pass_on(error)
        return _described(value, error)


def _content(value: Any) -> object:
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    return Sanitiser(_limits()).value(value)


def _clean(value: object) -> object:
    try:
        return _without_bytes(Sanitiser(_limits()).value(_builtins(value)))
    except Exception as error:  # noqa: BLE001  # within a list that holds itself, an object may raise when it is looked at
        pass_on(error)
        return _described(value, error)


@cache
def _limits() -> Limits:
    """Content is bounded as a whole by `fit`, so that JSON stays JSON; these bounds only end a walk through an endless object."""
    from .settings import Limits  # loaded by `init` already; `import rollscope` does without

    return Limits(value_length=1 << 30, items=20_000, depth=64)


def _builtins(value: object) -> object:
    try:
        return msgspec.to_builtins(value, enc_hook=_hook, str_keys=True)
    except Exception as error:  # noqa: BLE001  # what cannot be converted is cleaned as it is
        pass_on(error)
        report("truncated", "unknown_object", f"a value could not be turned into JSON: {type(error).__name__}: {error}")
        return value


def _described(value: object, error: Exception) -> str:
    report("truncated", "unknown_object", f"a {type(value).__qualname__} could not be turned into JSON: {type(error).__name__}: {error}")
    return f"<{type(value).__qualname__}>"


def _without_bytes(value: object) -> object:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if isinstance(value, dict):
        return {str(key): _without_bytes(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_bytes(item) for item in value]
    return value


_encode = msgspec.json.Encoder(enc_hook=_hook).encode
