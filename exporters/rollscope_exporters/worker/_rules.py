"""How the values of a metric over several steps become one: by a pattern of the configuration, else by the end of its name."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping

from ..settings import Rule

_WORDS: dict[str, Rule] = {
    "min": "min", "minimum": "min",
    "max": "max", "maximum": "max", "peak": "max",
    "sum": "sum", "count": "sum",
    "last": "last", "lr": "last",
}  # fmt: skip
_GROWING = {"global_step", "global_steps", "epoch", "learning_rate"}
"""Last parts of names whose values are set or grow. A bare `step` or `total` is none: that is how long it took."""
_WORD = re.compile(r"[A-Za-z]+$")
_PARTS = re.compile(r"[/.:]")


class Rules:
    """Name → rule."""

    def __init__(self, patterns: Mapping[str, Rule]) -> None:
        """`patterns`: glob → rule, the first that matches counts."""
        self._patterns = [(re.compile(fnmatch.translate(pattern)), rule) for pattern, rule in patterns.items()]
        self._known: dict[str, Rule] = {}

    def __call__(self, name: str) -> Rule:
        """Return the rule of `name`."""
        found = self._known.get(name)
        if found is None:
            found = self._known[name] = self._find(name)
        return found

    def _find(self, name: str) -> Rule:
        for pattern, rule in self._patterns:
            if pattern.match(name):
                return rule
        return rule_by_name(name)


def rule_by_name(name: str) -> Rule:
    """Return the rule that the end of `name` says, `mean` where it says none.

    `…/max`, `…_min`, `….sum` and `…/count` speak for themselves; of counters (`…_total`), `global_step`, `epoch`, `lr` and
    `learning_rate` the last value stands.
    """
    part = _PARTS.split(name)[-1].lower()
    if part in _GROWING or part.endswith("_total"):
        return "last"
    word = _WORD.search(part)
    return _WORDS.get(word.group(), "mean") if word else "mean"
