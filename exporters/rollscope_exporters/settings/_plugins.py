"""Backends found by entry point, and their own sections of the configuration."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points

from pydantic import BaseModel

from ..backends import Backend
from ._delivery import SWITCHES, own_keys, section_model
from ._errors import Problem, SettingsError, cure_for
from ._layers import Layers
from ._secrets import resolve_secrets
from ._validate import validate

GROUP = "rollscope.backends"


@cache
def offered() -> Mapping[str, EntryPoint]:
    """Return what is installed, by name. Looked up once: finding out reads the metadata of every installed package, for 20 ms."""
    return {point.name: point for point in entry_points(group=GROUP)}


def backend_names() -> list[str]:
    """Return the names of all backends this environment offers, installed in full or not."""
    return sorted(offered())


def why_unknown(name: str) -> str:
    """Return why there can be no backend called `name`, with the nearest that there is; empty where one is offered."""
    names = backend_names()
    return "" if name in names else f"no installed package offers such a backend. {cure_for(name, names)}"


def backend_class(name: str) -> type[Backend]:
    """Import the backend called `name`. Raises SettingsError with the install line when a part of it is missing."""
    points = offered()
    if name not in points:
        raise SettingsError([Problem("", f"backends.{name}", "unknown backend", cure_for(name, points))])
    try:
        found: type[Backend] = points[name].load()
    except ImportError as error:
        cure = f"Install it: {install_line(points[name], error)}"
        raise SettingsError([Problem("", f"backends.{name}", f"cannot be loaded: {error}", cure)]) from error
    return found


def install_line(point: EntryPoint, error: ImportError) -> str:
    """Return the command that brings what `point` misses: the extra of its name, else the module's package."""
    extras = (point.dist.metadata.get_all("Provides-Extra") or []) if point.dist else []
    if point.dist and point.name in extras:
        return f"pip install '{point.dist.name}[{point.name}]'"
    module = (error.name or point.value).partition(".")[0]
    return f"pip install {module}"


def backend_config(name: str, section: dict[str, object]) -> BaseModel:
    """Validate one backend's section by the backend's own `Config`. Raises SettingsError."""
    model = backend_class(name).Config
    layers = Layers(values={"backends": {name: own_keys(model, section)}})
    config, problems = _config(name, layers)
    if config is None or problems:
        raise SettingsError(problems)
    return config


def check_backends(layers: Layers, names: Iterable[str]) -> list[Problem]:
    """Validate the sections of `names`, resolving their secrets in place; return what is wrong with them."""
    return [problem for name in names for problem in _check(layers, name)]


def _check(layers: Layers, name: str) -> list[Problem]:
    try:
        return _config(name, layers)[1]
    except SettingsError as error:
        where = layers.origin(("backends", name)).where
        return [Problem(where, p.key, p.cause, p.cure) for p in error.problems]


def _config(name: str, layers: Layers) -> tuple[BaseModel | None, list[Problem]]:
    model = backend_class(name).Config
    at = ("backends", name)
    problems = resolve_secrets(model, layers, at)
    section = layers.values["backends"][name]
    config, more = validate(section_model(model, section), section, layers, at, SWITCHES)
    return config, problems + more
