"""What `init` looks at before it begins anything: the destinations a run asks for, and the parts they need."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.util import find_spec

from ..errors import ConfigurationError, nearest
from ..settings import SIGNALS, Endpoint, Settings

__all__ = ["check_destinations"]

_GROUP = "rollscope.backends"
_BRIDGE = ("grpc", "httptools", "pydantic", "rich", "starlette", "uvicorn", "yaml", "zstandard")
"""What `rollscope[bridge]` brings."""
_NEEDS = {"mlflow": "mlflow", "wandb": "wandb", "swanlab": "swanlab"}


def check_destinations(settings: Settings, backends: Sequence[str]) -> None:
    """Raise `ConfigurationError` when the embedded bridge cannot serve what is asked for.

    With an endpoint the bridge is somewhere else and decides by itself; without a shipper nothing is sent from here.
    """
    if not settings.shipper:
        return
    if settings.endpoints is not None:
        for signal in SIGNALS:
            _check_endpoint(settings.endpoints.of(signal))
        return
    if missing := [name for name in _BRIDGE if find_spec(name) is None]:
        raise ConfigurationError(
            "no endpoint is set, and the bridge that would take its place is not installed",
            ", ".join(missing),
            "pip install 'rollscope[bridge]', or set OTEL_EXPORTER_OTLP_ENDPOINT, or ROLLSCOPE_SHIPPER=off to only keep the journal",
        )
    known = _known_backends() if backends else set()
    for name in backends:
        if name not in known:
            near = nearest(name, known)
            cure = f"did you mean {near!r}?" if near else f"installed are {', '.join(sorted(known)) or 'none'}"
            raise ConfigurationError("backend is unknown", name, cure)
        if name in _NEEDS and find_spec(_NEEDS[name]) is None:
            raise ConfigurationError("backend needs a package", name, f"pip install 'rollscope[{name}]'")


def _check_endpoint(endpoint: Endpoint) -> None:
    # Looked for, not imported: grpc in a training process is at odds with fork.
    if endpoint.protocol == "grpc" and find_spec("grpc") is None:
        raise ConfigurationError("the endpoint speaks gRPC and grpcio is not installed", endpoint.url, "pip install 'rollscope[grpc]'")
    for path in (endpoint.certificate, endpoint.client_certificate, endpoint.client_key):
        if path is not None and not os.access(path, os.R_OK):
            raise ConfigurationError(
                "a certificate of the endpoint cannot be read", path, "correct OTEL_EXPORTER_OTLP_CERTIFICATE, …_CLIENT_…"
            )


def _known_backends() -> set[str]:
    from importlib.metadata import entry_points

    return {entry.name for entry in entry_points(group=_GROUP)}
