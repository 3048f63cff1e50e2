"""A run's configuration as MLflow parameters: flat, short, written once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ._json import as_json
from ._metrics import spelled
from ._otlp import clean_text

MOST = 2000
"""Parameters of one run; the whole configuration is the artifact `config.json`."""
_VALUE_LIMIT = 6000


def flat_params(config: Mapping[str, object]) -> dict[str, str]:
    """Return leaves of `config` by dotted path. Lists stay one value, as JSON; empty maps are values."""
    leaves = ((spelled(path), clean_text(_text(value), _VALUE_LIMIT)) for path, value in _leaves("", config))
    return dict(pair for _, pair in zip(range(MOST), leaves, strict=False))


def _leaves(prefix: str, config: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in config.items():
        path = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and value:
            yield from _leaves(path, value)
        else:
            yield path, value


def _text(value: object) -> str:
    return value if isinstance(value, str) else as_json(value)
