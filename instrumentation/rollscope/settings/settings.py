"""The settings of one process, from arguments of `init` and the environment."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Literal, cast
from urllib.parse import unquote

import msgspec

from .. import vocabulary as v
from ..errors import ConfigurationError
from ._environment import environment_bool, environment_seconds, parse_size
from .capture import Capture
from .endpoint import Endpoints, resolve_endpoints
from .limits import Limits
from .redaction import Redaction

__all__ = ["Settings", "disabled", "load_settings"]

_DEFAULT_STORAGE = "rollscope"
_JOURNAL_BYTES = 4 << 30
_HOST_INTERVAL = 10.0


class Settings(msgspec.Struct, frozen=True):
    """What a recorder and its node's shipper go by."""

    directory: Path
    """The node folder: journals, tokenizers, shipper. Absolute; a local file system."""
    storage: Path
    """Folder of the embedded bridge. Absolute."""
    endpoint: str | None = None
    """What `init` or `ROLLSCOPE_ENDPOINT` said, to be handed to workers."""
    endpoints: Endpoints | None = None
    """Resolved destinations; None means the embedded bridge."""
    capture: Capture = msgspec.field(default_factory=Capture)
    limits: Limits = msgspec.field(default_factory=Limits)
    service_name: str = "rollscope"
    resource: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Attributes of `OTEL_RESOURCE_ATTRIBUTES`."""
    journal_bytes: int = _JOURNAL_BYTES
    """Disk a process may use before it drops tokens, then spans."""
    shipper: bool = True
    """Whether this process looks after the node's shipper; `ROLLSCOPE_SHIPPER=off` where something else does."""
    models: Literal["digest", "reference", "off"] = "digest"
    """What is recorded of a checkpoint besides its place: files and their digests, files alone, or nothing at all. `ROLLSCOPE_MODELS`."""
    host_interval: float = _HOST_INTERVAL
    """Seconds between two looks of the shipper at the host; 0 switches them off. `ROLLSCOPE_HOST_INTERVAL`."""
    redaction: Redaction = msgspec.field(default_factory=Redaction)
    """What the shipper takes out of this process's records before it sends them. `ROLLSCOPE_REDACT_KEYS`, `…_PATTERNS`, `…_FUNCTION`."""


def disabled(env: Mapping[str, str] | None = None) -> bool:
    """Return whether `ROLLSCOPE_DISABLED` or `OTEL_SDK_DISABLED` switches everything off. Raises `ConfigurationError`."""
    env = os.environ if env is None else env
    return environment_bool(env, "ROLLSCOPE_DISABLED") or environment_bool(env, "OTEL_SDK_DISABLED")


def _absolute(path: str | os.PathLike[str]) -> Path:
    try:
        return Path(path).absolute()
    except FileNotFoundError as error:
        cure = "change into one that exists, or give ROLLSCOPE_STORAGE and ROLLSCOPE_DIR as absolute paths"
        raise ConfigurationError("the working directory is gone, and a path is relative to it", str(path), cure) from error


def load_settings(
    env: Mapping[str, str] | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    storage: str | os.PathLike[str] | None = None,
    endpoint: str | None = None,
    capture: bool | str | Mapping[str, bool] | Iterable[str] | None = None,
    journal_limit: str | int | None = None,
    redact: Mapping[str, object] | None = None,
) -> Settings:
    """Join arguments and environment; an argument goes first. Raises `ConfigurationError` for a value that cannot work."""
    env = os.environ if env is None else env
    place = _absolute(storage or env.get("ROLLSCOPE_STORAGE") or _DEFAULT_STORAGE)
    resource = _resource_attributes(env.get("OTEL_RESOURCE_ATTRIBUTES", ""))
    return Settings(
        directory=_absolute(directory or env.get("ROLLSCOPE_DIR") or place / "journal"),
        storage=place,
        endpoint=endpoint or env.get("ROLLSCOPE_ENDPOINT") or None,
        endpoints=resolve_endpoints(env, endpoint),
        capture=Capture.of(capture) & Capture.from_environment(env),
        limits=Limits.from_environment(env),
        service_name=env.get("OTEL_SERVICE_NAME") or resource.pop(v.SERVICE_NAME, "") or "rollscope",
        resource=resource,
        journal_bytes=parse_size(journal_limit or env.get("ROLLSCOPE_JOURNAL_LIMIT") or _JOURNAL_BYTES, "ROLLSCOPE_JOURNAL_LIMIT"),
        shipper=_shipper(env),
        models=_models(env),
        host_interval=environment_seconds(env, "ROLLSCOPE_HOST_INTERVAL", default=_HOST_INTERVAL),
        redaction=Redaction.of(redact, env),
    )


def _shipper(env: Mapping[str, str]) -> bool:
    # Its grace is the shipper's to use; a shipper that ends over it would only be started again and again.
    environment_seconds(env, "ROLLSCOPE_SHIPPER_GRACE", default=0)
    return not env.get("ROLLSCOPE_SHIPPER", "").strip() or environment_bool(env, "ROLLSCOPE_SHIPPER")


def _models(env: Mapping[str, str]) -> Literal["digest", "reference", "off"]:
    word = env.get("ROLLSCOPE_MODELS", "").strip().lower() or "digest"
    if word not in ("digest", "reference", "off"):
        raise ConfigurationError("ROLLSCOPE_MODELS is unknown", word, "set it to digest, reference or off")
    return cast('Literal["digest", "reference", "off"]', word)


def _resource_attributes(text: str) -> dict[str, str]:
    attributes: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        name, equals, value = pair.partition("=")
        if not equals or not name.strip():
            raise ConfigurationError("OTEL_RESOURCE_ATTRIBUTES cannot be read", pair, "write it as `name=value,name=value`")
        attributes[name.strip()] = unquote(value.strip())
    return attributes
