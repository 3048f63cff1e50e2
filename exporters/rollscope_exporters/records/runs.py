"""A run: that it began, how it ended, and the files it left."""

# ruff: noqa: RUF012 - every record has its own copy of an empty default; ruff does not see the Struct behind `Plain`
from __future__ import annotations

from typing import ClassVar, Literal, TypeAlias

from ._base import Plain

RunStatus: TypeAlias = Literal["finished", "failed", "aborted"]


class RunStarted(Plain, tag="run_started", kw_only=True, frozen=True):
    """A run began or was resumed (`attempt` > 0). Always the first record of a run; a run of a program without
    rollscope gets one with its `service.name` as project and experiment."""

    signal: ClassVar[str] = "runs"
    run: str
    name: str
    project: str
    attempt: int = 0
    time: int
    """Unix time, ns."""
    config: dict[str, object] = {}
    tags: list[str] = []
    notes: str = ""
    backends: list[str] = []
    """What the run asked for; the bridge's configuration decides."""
    circumstances: dict[str, object] = {}
    resource: dict[str, object] = {}


class RunFinished(Plain, tag="run_finished", kw_only=True, frozen=True):
    """The run ended: `finished` and `failed` by its driver's word, `aborted` when the driver died without one."""

    signal: ClassVar[str] = "runs"
    run: str
    time: int
    status: RunStatus
    error: str = ""


class Artifact(Plain, tag="artifact", kw_only=True, frozen=True):
    """A file of the run: its content, or where it lies."""

    signal: ClassVar[str] = "artifacts"
    run: str
    name: str
    time: int
    type: str = "file"
    aliases: list[str] = []
    digest: str = ""
    size: int = 0
    content: bytes | None = None
    uri: str = ""
    step: int | None = None
    files: list[tuple[str, int, int, str]] = []
    """Of a checkpoint: path below `uri` (its name where it is one file), bytes, time of modification (Unix ns), digest or empty."""
    host: str = ""
    """Where `uri` lies, for a checkpoint."""
    upload: bool = False
    """Whether the files at `uri` are wanted in the destination: set for a checkpoint by `artifacts.models: upload`."""
    uid: str = ""
