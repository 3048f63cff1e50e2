"""The model of `rollscope.yaml`. Each field's description is its line in docs/configuration.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ByteSize, ConfigDict, Field, SecretStr, model_validator

from rollscope.settings import Redaction

from ..records import SIGNALS
from ._delivery import Artifacts, Metrics, Runs, Trajectories, TrajectoryOptions, options_of, switch_of
from ._errors import cure_for
from ._units import Address, Seconds, is_loopback


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise ValueError(f"not a regular expression: {error}") from None
    return text


def _function(text: str | None) -> str | None:
    if text is not None and not re.fullmatch(r"[\w.]+:[\w.]+", text):
        raise ValueError("name a function as module:function")
    return text


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tls(_Section):
    """Certificates of the listeners, PEM files."""

    cert_file: Path = Field(description="Certificate chain of the bridge.")
    key_file: Path = Field(description="Private key of the certificate.")
    client_ca_file: Path | None = Field(default=None, description="Authorities whose client certificates are asked for (mTLS).")

    @model_validator(mode="after")
    def _files_exist(self) -> Tls:
        for name in type(self).model_fields:
            path = getattr(self, name)
            if path is not None and not path.is_file():
                raise ValueError(f"{name}: there is no file {path}")
        return self


class Listen(_Section):
    """Where the bridge takes OTLP. Loopback unless said otherwise; port 0 lets the system choose."""

    grpc: Address | None = Field(default="127.0.0.1:5317", description="OTLP/gRPC, `host:port`; null switches it off.")
    http: Address | None = Field(default="127.0.0.1:5318", description="OTLP/HTTP, health and status, `host:port`; null switches it off.")
    token: SecretStr | None = Field(default=None, description="Bearer token every caller must present.")
    tls: Tls | None = Field(default=None, description="Serve TLS; with `client_ca_file` mTLS.")
    insecure: bool = Field(default=False, description="Allow listening beyond loopback with neither token nor TLS.")

    @model_validator(mode="after")
    def _closed_by_default(self) -> Listen:
        addresses = [address for address in (self.grpc, self.http) if address]
        if not addresses:
            raise ValueError("grpc and http are both switched off; the bridge needs one of them")
        open_ones = [address for address in addresses if not is_loopback(address)]
        if open_ones and not (self.token or self.tls or self.insecure):
            raise ValueError(
                f"{', '.join(open_ones)} is reachable from other machines with neither token nor TLS; "
                "set listen.token_file, listen.tls, or insecure: true if that is meant"
            )
        return self


class Redact(_Section):
    """What the bridge takes out of everything that comes in, before it is stored; for programs without rollscope's shipper.

    A run redacts on its own node by `init(redact=…)` or `ROLLSCOPE_REDACT_KEYS`, `…_PATTERNS`, `…_FUNCTION`.
    """

    keys: list[str] = Field(
        default=[],
        description="Names whose value is replaced, in any case, `*` for anything: attributes, keys in maps and in JSON at any depth.",
    )
    patterns: list[Annotated[str, AfterValidator(_pattern)]] = Field(
        default=[], description="Regular expressions; matches in any text are replaced, and the token ids that stand for them."
    )
    function: Annotated[str | None, AfterValidator(_function)] = Field(
        default=None,
        description="`module:function`, called as f(key, text) -> text on every text; a record on which it fails is set aside.",
    )

    @property
    def redaction(self) -> Redaction:
        """The same as the shipper takes it."""
        return Redaction(tuple(self.keys), tuple(self.patterns), self.function or "")


class BridgeLimits(_Section):
    """Bounds."""

    inbox: ByteSize = Field(
        default=ByteSize(20 << 30),
        ge=1 << 20,
        description="Bytes accepted and not yet processed, and size of the store; "
        "beyond it, and where the disk has less than 192 MiB free, senders are told to wait.",
    )
    journal: ByteSize = Field(
        default=ByteSize(4 << 30),
        ge=1 << 20,
        description="Disk one recording process may take: what `rollscope up` tells runs to set as `ROLLSCOPE_JOURNAL_LIMIT`.",
    )
    request: ByteSize = Field(default=ByteSize(64 << 20), ge=1 << 16, le=512 << 20, description="Largest request after decompression.")
    log: ByteSize = Field(
        default=ByteSize(16 << 20), ge=1 << 16, description="Size at which bridge.log is rotated; three old ones are kept."
    )


class Workers(_Section):
    """How backends are driven."""

    batch_rows: int = Field(default=500, ge=1, description="Records handed to a backend at once, at most.")
    batch_bytes: ByteSize = Field(
        default=ByteSize(8 << 20), ge=1 << 16, description="Encoded size of what is handed to a backend at once, about."
    )
    deadline: Seconds = Field(
        default=120.0,
        gt=0,
        description="A worker that makes no progress for this long is killed and started again; it then delivers singly for a while.",
    )
    drain: Seconds = Field(default=10.0, ge=0, description="How long the bridge goes on delivering when it is told to end.")
    max_pause: Seconds = Field(default=30.0, gt=0, description="Longest pause between two tries on a backend that cannot be reached.")


class Settings(_Section):
    """The whole of `rollscope.yaml`."""

    storage: Path = Field(
        default=Path("rollscope"), description="Folder of the inbox, the store, positions and local files; a local file system."
    )
    listen: Listen = Field(default=Listen(), description=Listen.__doc__)
    backends: dict[str, dict[str, Any]] | None = Field(
        default=None,
        description="Destinations by name, each with its own keys and those of every backend, see below. Left out, runs choose: console, "
        "jsonl and, where installed, mlflow.",
    )
    routes: dict[str, list[str]] = Field(
        default={}, description="Signal → backends that get it; a signal not named goes to every backend that can take it."
    )
    runs: Runs = Field(default=Runs(), description=Runs.__doc__)
    metrics: Metrics = Field(default=Metrics(), description=Metrics.__doc__)
    trajectories: Trajectories = Field(default=Trajectories(), description=Trajectories.__doc__)
    artifacts: Artifacts = Field(default=Artifacts(), description=Artifacts.__doc__)
    redact: Redact = Field(default=Redact(), description=Redact.__doc__)
    limits: BridgeLimits = Field(default=BridgeLimits(), description=BridgeLimits.__doc__)
    workers: Workers = Field(default=Workers(), description=Workers.__doc__)

    @model_validator(mode="before")
    @classmethod
    def _backends_without_keys(cls, data: Any) -> Any:
        """Read `console:` with nothing after it as `console: {}`."""
        backends = data.get("backends") if isinstance(data, dict) else None
        if isinstance(backends, dict):
            data = {**data, "backends": {name: {} if section is None else section for name, section in backends.items()}}
        return data

    @model_validator(mode="after")
    def _routes_name_signals(self) -> Settings:
        for signal in self.routes:
            if signal not in SIGNALS:
                raise ValueError(f"routes: unknown signal {signal!r}. {cure_for(signal, SIGNALS)}")
        return self

    def signals(self, backend: str, accepts: frozenset[str]) -> frozenset[str]:
        """Return those of the signals it `accepts` that go to `backend`: by its own section, else by the routes; `runs` always, it frames
        the rest."""
        return frozenset(signal for signal in accepts if signal == "runs" or self._goes(signal, backend))

    def metrics_of(self, backend: str) -> Metrics:
        """Return `metrics` as it holds for `backend`."""
        return options_of(self._section(backend), "metrics", self.metrics)

    def trajectories_of(self, backend: str) -> TrajectoryOptions:
        """Return `trajectories` as it holds for `backend`."""
        return options_of(self._section(backend), "trajectories", self.trajectories)

    def artifacts_of(self, backend: str) -> Artifacts:
        """Return `artifacts` as it holds for `backend`."""
        return options_of(self._section(backend), "artifacts", self.artifacts)

    def _goes(self, signal: str, backend: str) -> bool:
        switch = switch_of(self._section(backend), signal)
        return switch if switch is not None else signal not in self.routes or backend in self.routes[signal]

    def _section(self, backend: str) -> dict[str, Any]:
        return (self.backends or {}).get(backend, {})
