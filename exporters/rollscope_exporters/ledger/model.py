"""The ledger as data; `msgspec.json.encode` of it is what `rollscope ledger --json` prints (docs/ledger.md)."""

from __future__ import annotations

import msgspec


class ProducerLine(msgspec.Struct, kw_only=True):
    """One process that recorded."""

    producer: str
    role: str = ""
    rank: int | None = None
    host: str = ""
    pid: int = 0
    attempt: int = 0
    produced: int
    """Records known to have been written to its journal."""
    received: int
    """Of these, records that reached the bridge, each counted once."""
    missing: int
    """`produced - received`: on their way, or lost."""
    lost: int = 0
    """Of `missing`, records known to be lost: those of `dropped` that had a number."""
    missing_numbers: list[tuple[int, int]] = []
    """The first ranges of missing numbers, both ends included."""
    duplicate: int = 0
    """Records that came more than once and were dropped."""
    waiting: int = 0
    """Received and not yet handed on, such as spans of a trajectory that is not whole."""
    dropped: dict[str, int] = {}
    """Reason → records refused before they were written, or left behind: `evicted …`, `damaged …`, and `journal deleted`, had a number."""
    truncated: dict[str, int] = {}
    """Reason → values that were shortened or replaced."""
    failed_calls: dict[str, int] = {}
    """Reason → calls that recorded nothing because of what they were given: no records, so none that are lost."""
    set_aside: dict[str, int] = {}
    """Reason → records that came and could not be used."""
    delivered: dict[str, int] = {}
    """Backend → records it has."""
    final: bool = False
    """It has ended, and everything of it was sent."""
    abnormal: bool = False
    """It ended without finishing."""
    heard: int = 0
    """When something of it last arrived, Unix ns."""
    open_spans: list[dict[str, object]] = []
    """The oldest spans it has open, by its latest heartbeat: name, age in seconds."""
    open_span_count: int = 0

    @property
    def label(self) -> str:
        """How people know it: role and rank, else its process."""
        where = f"pid {self.pid} on {self.host}" if self.host else f"pid {self.pid}"
        if not self.role:
            return where
        return f"{self.role} ({where})" if self.rank is None else f"{self.role} rank {self.rank} ({where})"


class HostLine(msgspec.Struct, kw_only=True):
    """One machine that processes of the run recorded on."""

    host: str
    producers: int
    """Processes on it, of all attempts."""
    clock_offset: float | None = None
    """Seconds by which its clock is behind the bridge's (negative: ahead), None before a heartbeat; see `clocks.measure`."""


class SetAsideLine(msgspec.Struct, frozen=True):
    """A record that a backend could not take."""

    what: str
    reason: str
    records: int
    """Numbered records it stood for."""


class BackendLine(msgspec.Struct, kw_only=True):
    """One destination of the run."""

    backend: str
    started: bool = True
    """Whether a worker of it has ever run here."""
    unknown: str = ""
    """Why there will never be one: nothing installed offers a backend of this name."""
    position: int = 0
    delivered: int = 0
    """Records."""
    pending: int = 0
    """Records on their way to it."""
    pending_rows: int = 0
    """Outbox rows on their way to it; some rows stand for no numbered record."""
    waits: str = ""
    """What holds it up, in its worker's words."""
    set_aside: list[SetAsideLine] = []
    not_routed: dict[str, int] = {}
    """Signal → records that it is not to get."""
    left_out: dict[str, int] = {}
    """Reason → rows that configuration or budget left out; their records count as delivered."""
    uploads: int = 0
    """Checkpoints on their way to it."""
    uploads_failed: list[str] = []
    """Checkpoints that could not be uploaded, and why."""
    before: int = 0
    """Records that were gone before the backend was first started: not its to deliver."""


class RunLedger(msgspec.Struct, kw_only=True):
    """One run."""

    run: str
    name: str
    project: str
    attempt: int = 0
    status: str
    """`running`, `ending`, `finished`, `failed`, `aborted`."""
    verdict: str
    """`complete`, `delivering`, or `incomplete: …`."""
    settled: bool = False
    """Whether nothing is on its way any more: the verdict stays."""
    reasons: list[str] = []
    """Why it is not complete, one sentence each."""
    notes: list[str] = []
    """What does not change the verdict and is worth knowing."""
    produced: int = 0
    received: int = 0
    missing: int = 0
    duplicate: int = 0
    dropped: int = 0
    waiting: int = 0
    unnumbered: int = 0
    """Records that nobody numbered: of programs without rollscope, and spans that dead processes left open."""
    set_aside: dict[str, int] = {}
    """Reason → records of programs without rollscope that could not be used."""
    repaired: dict[str, int] = {}
    """Reason → items that were changed so that they make sense."""
    repeated: int = 0
    """Trajectories that had the step, group, index and attempt of another one, and were joined with it."""
    repeated_first: str = ""
    """The first of them."""
    redacted: dict[str, int] = {}
    """What found them (keys, patterns, function) → values that the bridge redacted."""
    unheard: list[str] = []
    """Ranks that should exist and never said anything."""
    hosts: list[HostLine] = []
    """By name."""
    producers: list[ProducerLine] = []
    backends: list[BackendLine] = []


class Ledger(msgspec.Struct, kw_only=True):
    """All runs of a storage folder."""

    runs: list[RunLedger]
    """Oldest first."""
    rejected: dict[str, int] = {}
    """Reason → requests, or records in them, that could not be read at all."""
    rejected_latest: list[str] = []
    """The latest ones by name."""

    @property
    def complete(self) -> bool:
        """Whether every run is, and there is one."""
        return bool(self.runs) and all(run.verdict == "complete" for run in self.runs)

    @property
    def settled(self) -> bool:
        """Whether nothing of any run is on its way any more, and there is one."""
        return bool(self.runs) and all(run.settled for run in self.runs)
