"""What rollscope raises: only where a program starts it, never where it records.

RollscopeError
 └── ConfigurationError    a setting of `init` or of the environment cannot work
"""

from __future__ import annotations

from collections.abc import Iterable

from .importing import importing

__all__ = ["ConfigurationError", "RollscopeError", "nearest"]


class RollscopeError(Exception):
    """Base of everything rollscope raises."""


class ConfigurationError(RollscopeError):
    """When a setting cannot work: says what is wrong, with which value, and what to do instead."""

    def __init__(self, cause: str, value: object, cure: str) -> None:
        super().__init__(f"{cause}: {value!r}; {cure}")
        self.cause = cause
        self.value = value
        self.cure = cure

    def __reduce__(self) -> tuple[type[ConfigurationError], tuple[str, object, str]]:
        return type(self), (self.cause, self.value, self.cure)


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return which of `known` was probably meant by `word`, None where none is like it."""
    with importing:
        from difflib import get_close_matches  # 3 ms, which `import rollscope` does not pay

    return next(iter(get_close_matches(word, list(known), n=1)), None)
