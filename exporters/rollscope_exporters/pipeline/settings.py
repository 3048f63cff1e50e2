"""What can be set about the pipeline."""

from __future__ import annotations

import msgspec

from rollscope.settings import Redaction

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


class PipelineSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Times in ns, sizes in bytes."""

    quiet: int = 5 * SECOND
    """A trace whose root has ended and whose size nobody told (a foreign program's, an aborted one) is whole after this long without
    news; longer than the 5 s at which OpenTelemetry SDKs send would be wrong only where processes share a trace."""
    idle: int = 600 * SECOND
    """A trace that lacks something goes out as incomplete after this long without news."""
    hold: int = 5 * SECOND
    """How long records of a run wait for the driver's `rl.run.started` before the run is announced from what the resource says."""
    finish: int = 30 * SECOND
    """How long the end of a run waits, after the last news of the run, for producers that never said they were done."""
    service_idle: int = 900 * SECOND
    """A program without rollscope that was silent for this long begins a new run with its next record."""
    remember: int = 72 * HOUR
    """How long delivered traces and foreign points are remembered, so that late comers and duplicates are known as such."""
    keep: int = 600 * SECOND
    """How long outbox rows stay at least, so that a backend asked for by a new run finds its beginning."""
    batch_bytes: int = 4 << 20
    """Inbox bytes in one commit, about."""
    batch_time: int = SECOND // 5
    """Longest time a commit waits for more to come."""
    cache_bytes: int = 256 << 20
    """Memory for the parts of open traces, about; the rest stays in the store."""
    trace_bytes: int = 32 << 20
    """A trace larger than this goes out in pieces."""
    artifact_bytes: int = 64 << 20
    """A larger artifact is delivered by reference only."""
    store_bytes: int = 20 << 30
    """When the store is larger, because some backend takes nothing, the inbox waits."""
    read_artifacts: bool = False
    """Whether a file that a record only names may be read: same host, owned by the bridge's user."""
    redaction: Redaction = Redaction()
    """What is taken out of everything that comes in, before it is stored."""
    token2text: bool = True
    tokenizers: tuple[str, ...] = ()
    """Folders in which runs on this host keep their tokenizers."""
