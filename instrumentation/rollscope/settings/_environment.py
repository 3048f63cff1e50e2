"""Reading typed values out of environment variables, each error naming the variable."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TypeVar

from ..errors import ConfigurationError

D = TypeVar("D")
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"", "0", "false", "no", "off"})
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(?:i?b)?", re.IGNORECASE)
_FACTOR = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def environment_bool(env: Mapping[str, str], name: str) -> bool:
    """Return a switch; unset is False. Raises `ConfigurationError` for a word that is neither yes nor no."""
    word = env.get(name, "").strip().lower()
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ConfigurationError(f"{name} is neither true nor false", env[name], "set it to `true` or `false`, or unset it")


def environment_int(env: Mapping[str, str], *names: str, default: D) -> int | D:
    """Return the first set variable of `names`. Raises `ConfigurationError` for anything but an integer of at least 0."""
    for name in names:
        word = env.get(name, "").strip()
        if word:
            if not word.isdecimal():
                raise ConfigurationError(f"{name} is not an integer of at least 0", env[name], "correct or unset it")
            return int(word)
    return default


def environment_seconds(env: Mapping[str, str], name: str, *, default: float) -> float:
    """Return a duration in seconds, 0 for `off`. Raises `ConfigurationError` for anything but a number that is not negative."""
    word = env.get(name, "").strip().lower()
    if not word:
        return default
    try:
        return 0.0 if word == "off" else seconds(word.removesuffix("s"))
    except ValueError:
        raise ConfigurationError(f"{name} is no duration", env[name], "give seconds, or `off`") from None


def seconds(text: str) -> float:
    """Read a number of seconds; also what a command line's option is read by. Raises `ValueError` unless it is finite and not negative."""
    value = float(text)
    if not 0 <= value < float("inf"):
        raise ValueError(text)
    return value


def parse_size(value: str | int, source: str) -> int:
    """Return a number of bytes given as 4294967296 or `4GiB` (binary factors)."""
    if isinstance(value, int) and value >= 0:
        return value
    match = _SIZE.fullmatch(str(value).strip())
    if match is None:
        raise ConfigurationError(f"{source} is not a size", value, "write bytes or a number with KiB, MiB, GiB")
    return int(float(match[1]) * _FACTOR[match[2].lower()])
