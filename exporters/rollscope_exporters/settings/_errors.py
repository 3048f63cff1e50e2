"""What is wrong with a configuration, said with cause, value and cure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rollscope.errors import nearest


@dataclass(frozen=True, slots=True)
class Problem:
    """One wrong key or value."""

    where: str
    """`rollscope.yaml:7`, or the environment variable."""
    key: str
    """Dotted path, as in `limits.inbox`."""
    cause: str
    cure: str = ""

    def __str__(self) -> str:
        parts = [part for part in (self.where, self.key, self.cause) if part]
        return ": ".join(parts) + (f". {self.cure}" if self.cure else "")


class SettingsError(Exception):
    """When the configuration cannot be used; raised at start, with every problem found."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems))


def cure_for(name: str, known: Iterable[str]) -> str:
    """Return a cure for an unknown `name`: the nearest known one, and all of them."""
    names = sorted(known)
    listed = f"Known here: {', '.join(names)}." if names else "Nothing is expected here."
    near = nearest(name.lower(), names)
    return f"Did you mean {near!r}? {listed}" if near else listed
