"""Put the layers together: file, environment, command line; then validate everything at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from ._errors import Problem, SettingsError, cure_for
from ._layers import Layers, Origin
from ._model import Settings
from ._plugins import check_backends
from ._secrets import resolve_secrets
from ._validate import validate

ENV_FILE = "ROLLSCOPE_CONFIG"
"""Names the configuration file where no path is given."""
DEFAULT_FILE = Path("rollscope.yaml")


def load(
    path: Path | None,
    env: Mapping[str, str],
    overrides: Mapping[str, tuple[str, object]] | None = None,
    *,
    backends: Collection[str] | None = None,
) -> Settings:
    """Read the configuration.

    `path` is the file; without one, `ROLLSCOPE_CONFIG` names it, else `./rollscope.yaml` is read where it exists.
    `overrides` maps a dotted key to who says so and its value, as in `{"storage": ("--storage", "/data")}`.
    `backends` are those whose sections are checked, by default all: a check imports the backend with its library, which takes a process
    that has no use for it seconds and a hundred MB.
    Raises SettingsError that lists every problem found.
    """
    layers = Layers()
    file = config_file(path, env)
    if file:
        layers.add_file(file)
    layers.add_environment(env)
    for key, (where, value) in (overrides or {}).items():
        layers.set(tuple(key.split(".")), value, Origin(where))
    return _validated(layers, backends)


def config_file(path: Path | None, env: Mapping[str, str]) -> Path | None:
    """Return the file `load` reads, or None."""
    if path:
        return path
    if env.get(ENV_FILE):
        return Path(env[ENV_FILE])
    return DEFAULT_FILE if DEFAULT_FILE.is_file() else None


def _validated(layers: Layers, checked: Collection[str] | None) -> Settings:
    problems = resolve_secrets(Settings, layers)
    settings, more = validate(Settings, layers.values, layers)
    problems += more
    backends = settings.backends if settings else layers.values.get("backends")
    if isinstance(backends, dict):
        layers.values["backends"] = backends = {name: {} if section is None else section for name, section in backends.items()}
        names = [name for name in backends if checked is None or name in checked]
        problems += check_backends(layers, [name for name in names if isinstance(backends[name], dict)])
    if settings:
        problems += _routes(settings, layers)
    if problems or settings is None:
        raise SettingsError(problems)
    return settings.model_copy(update={"backends": layers.values["backends"]}) if settings.backends else settings


def _routes(settings: Settings, layers: Layers) -> list[Problem]:
    """Find routes to backends that are not configured; without configured ones any name may come with a run."""
    if settings.backends is None:
        return []
    known = list(settings.backends)
    return [
        Problem(layers.origin(("routes", signal)).where, f"routes.{signal}", f"{name!r} is not among the backends", cure_for(name, known))
        for signal, names in settings.routes.items()
        for name in names
        if name not in known
    ]
