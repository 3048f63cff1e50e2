"""What `init` was given, looked at before anything is done with it: a wrong type is named with the argument, not found out halfway."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from operator import index
from typing import Any

from ..errors import ConfigurationError
from ..importing import importing
from ..settings import Redaction

__all__ = ["check_types", "count", "mapping", "words"]

_TEXT = ("project", "experiment", "run_id", "notes", "role", "system", "algorithm", "dataset", "dataset_digest", "endpoint")
_PATHS = ("storage", "directory")


def check_types(given: Mapping[str, object]) -> None:
    """Raise `ConfigurationError` for the first argument of another type than it has to be. None is no value."""
    for name, value in given.items():
        if value is None:
            continue
        if name in _TEXT and not isinstance(value, str):
            raise ConfigurationError(f"{name} is no text", value, f"give {name}={str(value)!r}")
        if name in _PATHS and not isinstance(value, str | os.PathLike):
            raise ConfigurationError(f"{name} is no path", value, "give text or a pathlib.Path")
        if (name in _TEXT or name in _PATHS) and not _is_plain(str(value)):
            raise ConfigurationError(f"{name} cannot be written down", value, "leave out NUL and halves of surrogate pairs")
        if name == "redact" and not isinstance(value, Mapping | Redaction):
            raise ConfigurationError("redact is no map", value, 'give {"keys": […], "patterns": […], "function": "module:function"}')
        if name == "capture" and not isinstance(value, bool | str | Mapping | Iterable):
            raise ConfigurationError("capture is no kind of content", value, "give True, False, a name, a list of names, or {name: bool}")


def _is_plain(text: str) -> bool:
    try:
        return b"\0" not in text.encode()
    except UnicodeEncodeError:
        return False


def count(name: str, value: object) -> int | None:
    """Return a number that is not negative; None stays. Raises `ConfigurationError`."""
    if value is None:
        return None
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        number = -1
    if not 0 <= number < 1 << 63:
        raise ConfigurationError(f"{name} is no number from 0 on", value, f"give {name}=0 or more, or leave it out")
    return number


def mapping(name: str, value: object) -> Mapping[str, Any] | None:
    """Return a map, a dataclass or an argparse namespace as a map; None stays. Raises `ConfigurationError`."""
    if value is None or isinstance(value, Mapping):
        return value
    if hasattr(type(value), "__dataclass_fields__"):
        with importing:
            import dataclasses  # 3 ms, which `import rollscope` does not pay

        return dataclasses.asdict(value)  # type: ignore[call-overload, no-any-return]  # it is an instance of one
    if type(value).__name__ == "Namespace":  # argparse need not be imported to know its own
        return vars(value)
    raise ConfigurationError(f"{name} is no map", value, "give a dict; vars(…) makes one of most objects")


def words(name: str, value: object) -> list[str]:
    """Return a list of words; text is one word, None is none. Raises `ConfigurationError`."""
    if value is None:
        return []
    if isinstance(value, str):
        return [value]
    if not isinstance(value, Iterable):
        raise ConfigurationError(f"{name} is no list", value, f'give {name}=["…", "…"]')
    return [str(word) for word in value]
