"""Secrets come from the environment or from a file of their own, never from `rollscope.yaml`."""

from __future__ import annotations

import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel, SecretStr

from rollscope.secrets import has_password

from ._errors import Problem
from ._layers import Layers, Origin
from ._yaml import KeyPath


def models_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the model classes an annotation speaks of, also within `X | None`."""
    options = typing.get_args(annotation) or (annotation,)
    return [option for option in options if isinstance(option, type) and issubclass(option, BaseModel)]


def is_secret(annotation: Any) -> bool:
    """Say whether a field of this annotation holds a secret."""
    return SecretStr in (typing.get_args(annotation) or (annotation,))


def resolve_secrets(model: type[BaseModel], layers: Layers, at: KeyPath = ()) -> list[Problem]:
    """Replace each `<secret>_file` below `at` by the file's content; return what is wrong."""
    section: Any = layers.values
    for key in at:
        section = section.get(key) if isinstance(section, dict) else None
    return list(_resolve(model, section, layers, at)) if isinstance(section, dict) else []


def _resolve(model: type[BaseModel], section: dict[str, Any], layers: Layers, at: KeyPath) -> Iterator[Problem]:
    for name, info in model.model_fields.items():
        if is_secret(info.annotation):
            yield from _secret(name, section, layers, at)
        elif isinstance(value := section.get(name), str) and has_password(value):
            yield from _address(name, "password" in model.model_fields, layers, at)
        for below in models_in(info.annotation):
            if isinstance(section.get(name), dict):
                yield from _resolve(below, section[name], layers, (*at, name))


def _secret(name: str, section: dict[str, Any], layers: Layers, at: KeyPath) -> Iterator[Problem]:
    here = (*at, name)
    origin = layers.origin(here)
    if section.get(name) is not None and origin.in_file:
        yield Problem(origin.where, ".".join(here), "a secret has no place in this file", f"Set {_variable(here)}, or `{name}_file: PATH`.")
    source = (*at, f"{name}_file")
    if f"{name}_file" not in section or section.get(name) is not None:
        section.pop(f"{name}_file", None)
        return
    path = Path(str(section.pop(f"{name}_file")))
    try:
        section[name] = path.read_text(encoding="utf-8").strip()
        layers.origins[here] = Origin(layers.origin(source).where)
    except (OSError, UnicodeDecodeError) as error:
        yield Problem(layers.origin(source).where, ".".join(source), f"{path} cannot be read: {error}", "Name a readable file.")


def _address(name: str, has_key: bool, layers: Layers, at: KeyPath) -> Iterator[Problem]:
    """Refuse an address with a password where the file says it; `has_key`: the section has a key for the password."""
    here = (*at, name)
    origin = layers.origin(here)
    if origin.in_file:
        cure = f"Set {_variable(here)} to it" + (", or leave it out and set `password_file: PATH`." if has_key else ".")
        yield Problem(origin.where, ".".join(here), "an address with a password has no place in this file", cure)


def _variable(keys: KeyPath) -> str:
    return "__".join(("ROLLSCOPE", *keys)).upper()
