"""`{key}` in texts of the configuration: what it stands for among what a run said of itself."""

from __future__ import annotations

import re
from collections.abc import Mapping

PLACE = re.compile(r"\{([^{}]+)\}")


def look_up(source: Mapping[str, object], path: str) -> object:
    """Return what stands under `path`, by its whole name or by its dots through nested maps, longest name first; None for a map."""
    if path in source:
        found = source[path]
        return None if isinstance(found, Mapping) else found
    parts = path.split(".")
    for end in range(len(parts) - 1, 0, -1):
        below = source.get(".".join(parts[:end]))
        if isinstance(below, Mapping) and (found := look_up(below, ".".join(parts[end:]))) is not None:
            return found
    return None
