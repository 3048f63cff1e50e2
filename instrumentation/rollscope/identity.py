"""Who records: the run a process belongs to and its place among the processes of that run."""

from __future__ import annotations

import os
from collections.abc import Mapping

import msgspec

from . import vocabulary as v
from .launchers import Place

__all__ = ["Identity", "Run"]


class Run(msgspec.Struct, frozen=True):
    """One training job. Its id is made once and survives restarts; its name is for people."""

    id: str
    name: str
    project: str
    attempt: int = 0


class Identity(msgspec.Struct, frozen=True):
    """One producer: a process within a run. Becomes the OTLP resource of everything it records."""

    run: Run
    place: Place
    producer: str
    """16 hex digits, new in every process and after fork."""
    host: str = msgspec.field(default_factory=lambda: os.uname().nodename)
    pid: int = msgspec.field(default_factory=os.getpid)
    service_name: str = "rollscope"
    extra: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Attributes of `OTEL_RESOURCE_ATTRIBUTES`; identity goes before them."""

    @property
    def role(self) -> str:
        """Role of the process, empty when unknown."""
        return self.place.role

    @property
    def rank(self) -> int | None:
        """Global rank, None outside a launcher."""
        return self.place.rank

    def forked(self, producer: str) -> Identity:
        """Return the identity of a forked child of this process."""
        return msgspec.structs.replace(self, producer=producer, pid=os.getpid())

    def resource(self) -> dict[str, str | int]:
        """Return the OTLP resource attributes. Optional places are absent, not null."""
        attributes: dict[str, str | int | None] = {
            **self.extra,
            v.SERVICE_NAME: self.service_name,
            v.SERVICE_INSTANCE_ID: self.producer,
            v.HOST_NAME: self.host,
            v.PROCESS_PID: self.pid,
            v.RUN_ID: self.run.id,
            v.RUN_NAME: self.run.name,
            v.PROJECT_NAME: self.run.project,
            v.RUN_ATTEMPT: self.run.attempt,
            v.WORKER_ROLE: self.place.role or None,
            v.WORKER_RANK: self.place.rank,
            v.WORKER_WORLD_SIZE: self.place.world_size,
            v.WORKER_LOCAL_RANK: self.place.local_rank,
            v.WORKER_NODE_RANK: self.place.node_rank,
            v.PRODUCER_ID: self.producer,
        }
        return {name: value for name, value in attributes.items() if value is not None}
