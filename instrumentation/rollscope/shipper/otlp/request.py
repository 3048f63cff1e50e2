"""Encoded records → one OTLP request, put together from bytes without building a message."""

from __future__ import annotations

from collections.abc import Iterable

from ...vocabulary import SCHEMA_URL
from ._wire import framed
from .item import RECORDS_FIELD, RESOURCE_FIELD, SCHEMA_FIELD, Item

_SCHEMA = framed(SCHEMA_FIELD, SCHEMA_URL.encode())
_FRAMES = 24
"""Most bytes that the frames around one record's resource and scope can take."""


def assemble(items: Iterable[Item]) -> bytes:
    """Return the encoded `Export…ServiceRequest` of items of one signal, grouped by resource and scope, each group in order."""
    resources: dict[bytes, dict[bytes, list[bytes]]] = {}
    whole: list[bytes] = []
    for item in items:
        if item.scope:
            resources.setdefault(item.resource, {}).setdefault(item.scope, []).append(item.data)
        else:
            whole.append(item.data)
    return b"".join([framed(RESOURCE_FIELD, _resource(resource, scopes)) for resource, scopes in resources.items()] + whole)


def size_of(item: Item) -> int:
    """Return the most bytes that `item` can add to a request: its own, and those of its resource and scope should it be their first."""
    return len(item.data) + len(item.resource) + len(item.scope) + 2 * len(_SCHEMA) + _FRAMES


def _resource(resource: bytes, scopes: dict[bytes, list[bytes]]) -> bytes:
    parts = [resource]
    for scope, records in scopes.items():
        parts.append(framed(RECORDS_FIELD, b"".join([scope, *records, _SCHEMA])))
    parts.append(_SCHEMA)
    return b"".join(parts)
