"""Configuration of the bridge: `rollscope.yaml`, the environment over it, secrets from neither's sight.

Why pydantic: backends are third-party plug-ins, and each one declares its own section as a model that is found by entry
point. pydantic validates it in place, names every wrong key at once, carries the description that
`docs/configuration.md` is generated from, and hides secrets when it is printed. The layers are merged here rather than by
pydantic-settings, because an error has to say which line of the file or which variable is wrong.
"""

from __future__ import annotations

from ._delivery import Artifacts, Metrics, Rule, Runs, Trajectories, TrajectoryOptions
from ._errors import Problem, SettingsError
from ._load import config_file, load
from ._model import (
    Listen,
    Redact,
    Settings,
    Tls,
    Workers,
)
from ._plugins import backend_class, backend_config, backend_names, why_unknown
from ._requests import default_backends, wanted_backends
from ._units import is_loopback, split_address

__all__ = [
    "Artifacts",
    "Listen",
    "Metrics",
    "Problem",
    "Redact",
    "Rule",
    "Runs",
    "Settings",
    "SettingsError",
    "Tls",
    "Trajectories",
    "TrajectoryOptions",
    "Workers",
    "backend_class",
    "backend_config",
    "backend_names",
    "config_file",
    "default_backends",
    "is_loopback",
    "load",
    "split_address",
    "wanted_backends",
    "why_unknown",
]
