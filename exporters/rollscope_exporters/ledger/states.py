"""What the pipeline keeps of each producer and run, and the ledger reads."""

from __future__ import annotations

import msgspec

from ..records import RunFinished

_NUMBERED = ("evicted", "damaged")
"""Beginnings of reasons for which records are lost that had a number."""


class ProducerState(msgspec.Struct):
    """One journal writer as the bridge knows it."""

    run: str
    attempt: int = 0
    role: str = ""
    rank: int | None = None
    world_size: int | None = None
    host: str = ""
    pid: int = 0
    received: int = 0
    """Numbered records taken, each once."""
    duplicates: int = 0
    highest: int = 0
    """Highest number received."""
    first_page: int = 0
    """See `SequenceSet.first`."""
    set_aside: dict[str, int] = {}
    """Reason → records that came but could not be used."""
    last_sequence: int = 0
    """Highest number used, by the latest heartbeat."""
    dropped: dict[str, int] = {}
    truncated: dict[str, int] = {}
    failed_calls: dict[str, int] = {}
    deleted_upto: int = 0
    """Highest number of a record whose journal was deleted under its process."""
    deleted_since: int = 0
    """When that was told first, Unix ns."""
    final: bool = False
    abnormal: bool = False
    heartbeat: int = 0
    """Time of the latest heartbeat, Unix ns; 0 when none came."""
    lags: list[int] = []
    """How much later than their own time the latest heartbeats came, ns: delivery, and what the clocks differ by."""
    heard: int = 0
    """When something of it last arrived, Unix ns."""
    open_spans: list[dict[str, object]] = []
    """The oldest spans open at the latest heartbeat: name, age in seconds."""
    open_span_count: int = 0

    @property
    def lost(self) -> int:
        """Records told to be lost after they had got a number, as far as they were counted one by one."""
        return sum(n for reason, n in self.dropped.items() if reason.startswith(_NUMBERED))

    @property
    def produced(self) -> int:
        """Records known to have been written."""
        return max(self.last_sequence, self.highest)


class RunState(msgspec.Struct):
    """One run as the bridge knows it."""

    name: str
    project: str
    attempt: int = 0
    status: str = "running"
    backends: list[str] | None = None
    """What the run asked for; None when it said nothing."""
    wanted: list[str] = []
    """The backends it is to reach, by the configuration that was in force while it ran."""
    started: int = 0
    """Unix ns."""
    seen: int = 0
    """When a record of it last arrived, Unix ns."""
    announced: str = ""
    """Empty: nothing has gone out yet; `guessed`: a start made from the resource; `told`: the driver's own."""
    service: str = ""
    """For a program without rollscope, what its session is known by."""
    driver: str = ""
    """Producer that started the present attempt."""
    resource: dict[str, object] = {}
    unnumbered: int = 0
    """Records without number taken."""
    set_aside: dict[str, int] = {}
    """Reason → records without number that could not be used."""
    repaired: dict[str, int] = {}
    """Reason → items that were changed so that they make sense."""
    repeated: int = 0
    """Trajectories that had the step, group, index and attempt of another one, and were joined with it."""
    repeated_first: str = ""
    """The first of them."""
    redacted: dict[str, int] = {}
    """What found them (keys, patterns, function) → values that the bridge redacted."""
    ending: RunFinished | None = None
    """An end that waits for what was recorded before it."""
    ending_sources: dict[str, int] = {}
    """Producer of the end's record; empty when the bridge made it."""
    ending_since: int = 0
    ended: RunFinished | None = None
    """The end that has gone out."""
