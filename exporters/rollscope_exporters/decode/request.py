"""An encoded export request → groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from google.protobuf.message import DecodeError

from rollscope import vocabulary as v

from .groups import Group, UndecodableError
from .logs import add_logs
from .metrics import add_points
from .schema import LogsRequest, MetricsRequest, TraceRequest
from .spans import add_spans
from .values import resource_attributes


def decode(signal: str, data: bytes) -> list[Group]:
    """Decode an export request of `signal` (`traces`, `metrics` or `logs`), one group per resource, empty ones left out.

    Raises `UndecodableError` when `data` is no such request.
    """
    if signal not in _DECODERS:
        raise UndecodableError(f"unknown signal {signal!r}")
    kind, groups_of = _DECODERS[signal]
    try:
        groups = list(groups_of(kind.FromString(data)))
    except DecodeError as error:
        raise UndecodableError(f"not an {kind.DESCRIPTOR.name}: {error}") from error
    return [group for group in groups if group.spans or group.logs or group.points or group.numbers or group.invalid]


def _traces(request: Any) -> Iterator[Group]:
    for item in request.resource_spans:
        group = _group(item.resource)
        add_spans(group, _own(item.scope_spans))
        yield group


def _metrics(request: Any) -> Iterator[Group]:
    for item in request.resource_metrics:
        group = _group(item.resource)
        add_points(group, _own(item.scope_metrics))
        yield group


def _logs(request: Any) -> Iterator[Group]:
    for item in request.resource_logs:
        group = _group(item.resource)
        add_logs(group, _own(item.scope_logs))
        yield group


_DECODERS: dict[str, tuple[Any, Callable[[Any], Iterator[Group]]]] = {
    "traces": (TraceRequest, _traces),
    "metrics": (MetricsRequest, _metrics),
    "logs": (LogsRequest, _logs),
}
SIGNALS = tuple(_DECODERS)


def _own(scopes: Iterable[Any]) -> Iterator[Any]:
    return (scope for scope in scopes if scope.scope.name != v.SCOPE_DERIVED)


def _group(resource: bytes) -> Group:
    return Group(resource, resource_attributes(resource))
