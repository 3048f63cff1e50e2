"""A user's function by its import path."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

Transform = Callable[[str, str], str]
"""(key, text) → text."""


def load_function(name: str, place: str = "") -> Transform:
    """Import `module:function`; `place` is searched last. Raises `ValueError` that says why it cannot be had."""
    module, _, attribute = name.partition(":")
    if place and place not in sys.path:
        sys.path.append(place)
    try:
        found: Any = importlib.import_module(module) if attribute else None
        for part in attribute.split("."):
            found = getattr(found, part)
    except Exception as error:  # a module may raise anything when it is imported
        raise ValueError(f"redact.function {name!r} cannot be loaded: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise ValueError(f"redact.function {name!r} is a {type(found).__name__}, not a function")
    function: Transform = found
    return function


def place_of(name: str) -> str:
    """Return the folder that the module of `name` was imported from; empty where any process of this interpreter finds it."""
    module = name.partition(":")[0]
    file = getattr(sys.modules.get(module), "__file__", None)
    if not file:
        return ""
    path = Path(file).absolute()
    up = module.count(".") + (path.name == "__init__.py")
    folder = path.parents[up]
    return "" if "site-packages" in folder.parts or "dist-packages" in folder.parts else str(folder)
