"""Merge the file, the environment and the command line, and remember who set what."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ._errors import Problem, SettingsError
from ._yaml import KeyPath, read_yaml

ENV_PREFIX = "ROLLSCOPE__"
ENV_STORAGE = "ROLLSCOPE_STORAGE"
"""Through which a run tells its shipper where its embedded bridge keeps things."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a value was set."""

    where: str
    in_file: bool = False


@dataclass(slots=True)
class Layers:
    """A tree of raw values, later layers over earlier ones."""

    values: dict[str, Any] = field(default_factory=dict)
    origins: dict[KeyPath, Origin] = field(default_factory=dict)

    def add_file(self, path: Path) -> None:
        """Lay a YAML file over what is there. Raises SettingsError."""
        document, lines = read_yaml(path)
        self.values = _merged(self.values, _text_keys(document))
        self.origins |= {at: Origin(f"{path}:{line}", in_file=True) for at, line in lines.items()}

    def add_environment(self, env: Mapping[str, str]) -> None:
        """Lay `ROLLSCOPE_STORAGE`, then every `ROLLSCOPE__A__B` variable over what is there."""
        if env.get(ENV_STORAGE):
            self.set(("storage",), env[ENV_STORAGE], Origin(ENV_STORAGE))
        for name in sorted(env):
            if name.startswith(ENV_PREFIX):
                keys = tuple(part.lower() for part in name[len(ENV_PREFIX) :].split("__"))
                self.set(keys, _structured(env[name], name), Origin(name))

    def set(self, keys: KeyPath, value: object, origin: Origin) -> None:
        """Set one value; what stands in the way of its path is replaced."""
        branch = self.values
        for key in keys[:-1]:
            below = branch.get(key)
            if not isinstance(below, dict):
                below = branch[key] = {}
            branch = below
        branch[keys[-1]] = value
        self.origins[keys] = origin

    def origin(self, at: KeyPath) -> Origin:
        """Return who set the value at `at`, or the nearest section above it."""
        for end in range(len(at), 0, -1):
            if at[:end] in self.origins:
                return self.origins[at[:end]]
        below = [origin for keys, origin in self.origins.items() if keys[: len(at)] == at]
        return below[0] if below else Origin("")


def _structured(text: str, name: str) -> object:
    """Read lists, maps and null as JSON; any other text stays text, so that a token of digits stays a token."""
    if text.lstrip()[:1] not in ("[", "{") and text != "null":
        return text
    try:
        return json.loads(text)
    except ValueError as error:
        raise SettingsError([Problem(name, "", f"is not valid JSON: {error}")]) from None


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    merged = dict(below)
    for key, value in above.items():
        old = merged.get(key)
        merged[key] = _merged(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _text_keys(tree: Any) -> Any:
    return {str(key): _text_keys(value) for key, value in tree.items()} if isinstance(tree, dict) else tree
