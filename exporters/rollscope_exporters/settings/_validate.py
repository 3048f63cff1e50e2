"""Validate a section and say what is wrong in the words of whoever wrote it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from rollscope.secrets import mask_text

from ._errors import Problem, cure_for
from ._layers import Layers
from ._secrets import is_secret, models_in
from ._yaml import KeyPath

Model = TypeVar("Model", bound=BaseModel)
_SENSITIVE = re.compile(r"token|password|passwd|secret|api_?key|credential", re.IGNORECASE)


def validate(
    model: type[Model], section: dict[str, Any], layers: Layers, at: KeyPath = (), more_keys: Sequence[str] = ()
) -> tuple[Model | None, list[Problem]]:
    """Return the validated model, or None and the problems; `at` is where `section` stands in the whole, `more_keys` could stand in it."""
    try:
        return model.model_validate(section), []
    except ValidationError as error:
        return None, [_problem(model, dict(entry), layers, at, more_keys) for entry in error.errors(include_url=False)]


def _problem(model: type[BaseModel], entry: dict[str, Any], layers: Layers, at: KeyPath, more_keys: Sequence[str]) -> Problem:
    loc = tuple(str(part) for part in entry["loc"])
    keys = (*at, *loc)
    where, key = layers.origin(keys).where, ".".join(keys)
    if entry["type"] == "extra_forbidden":
        known = {*known_keys(_model_at(model, loc[:-1])), *(more_keys if len(loc) == 1 else ())}
        return Problem(where, key, "unknown key", cure_for(loc[-1], known))
    cause = str(entry["msg"]).removeprefix("Value error, ")
    if entry["type"] == "missing":
        return Problem(where, key, "is needed and was not given")
    if entry["type"] != "value_error" or not isinstance(entry["input"], dict):
        cause = f"{_shown(loc, entry['input'])} cannot be used: {cause}"
    return Problem(where, key, cause)


def known_keys(model: type[BaseModel] | None) -> list[str]:
    """Return the keys a section may have; a secret is offered with its `_file` form too."""
    fields = model.model_fields if model else {}
    return [form for name, info in fields.items() for form in ((name, f"{name}_file") if is_secret(info.annotation) else (name,))]


def _model_at(model: type[BaseModel], loc: KeyPath) -> type[BaseModel] | None:
    for key in loc:
        info = model.model_fields.get(key)
        found = models_in(info.annotation) if info else []
        if not found:
            return None
        model = found[0]
    return model


def _shown(loc: KeyPath, value: object) -> str:
    if any(_SENSITIVE.search(part) for part in loc):
        return "the value given"
    text = mask_text(repr(value))
    return text if len(text) <= 80 else f"{text[:77]}…"
