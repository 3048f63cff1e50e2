"""Which backends a run gets: what it asked for is a request, the configuration decides."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec

from ._model import Settings


def default_backends() -> list[str]:
    """Return what a run gets that asks for nothing in particular: console, jsonl, and mlflow where it is installed."""
    return ["console", "jsonl", *(["mlflow"] if find_spec("mlflow") else [])]


def wanted_backends(requested: Sequence[str] | None, settings: Settings) -> list[str]:
    """Return the backends of a run; `requested` is None where it said nothing, and `[]` where it wants none.

    Configured backends get every run that wants any; without configured ones each run gets what it asks for.
    """
    if requested is not None and not requested:
        return []
    if settings.backends is not None:
        return list(settings.backends)
    return list(dict.fromkeys(requested)) if requested else default_backends()
