"""How far the records of this process got."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import msgspec

from . import gate, session
from .delivering import shipper_status
from .recorder import Recorder

if TYPE_CHECKING:
    from ..journal import LogReader

__all__ = ["FlushResult", "flush", "status"]

_PAUSE = 0.05


class FlushResult(msgspec.Struct, frozen=True):
    """What became of the records of this process. `bool(result)` says whether all of them were sent."""

    sent: int
    """Records that the receiving side has acknowledged."""
    journaled: int
    """Records that are safe in the journal and wait for the shipper."""
    dropped: int
    """Records that were refused or removed, all reasons together; see `status` for the reasons."""

    def __bool__(self) -> bool:
        return self.journaled == 0 and self.dropped == 0


def flush(timeout: float = 5.0) -> FlushResult:
    """Wait until the shipper has delivered what was recorded so far, at most `timeout` seconds; return what became of it.

    Not needed for safety: what a call recorded is in the journal when it returns. Never raises.
    """
    recorder, _ = session.snapshot()
    if recorder is None or recorder.journal is None:
        return FlushResult(0, 0, 0)
    result = FlushResult(0, 0, 0)
    with gate.guard("flush"):
        deadline = time.monotonic()
        with gate.guard("flush"):  # what is no number of seconds is no time
            deadline += float(timeout)
        while True:
            result = _look(recorder)
            if result.journaled == 0 or not time.monotonic() < deadline:
                return result
            time.sleep(min(_PAUSE, max(0.0, deadline - time.monotonic())))
    return result


def status() -> dict[str, object]:
    """Return a snapshot for a program's own health page: run, producer, records, losses by reason, bytes waiting, shipper.

    `shipper` is what the node's shipper says of itself: `state`, `endpoint`, and `error`, with cause, value and cure, while it does not get
    through. Never raises.
    """
    recorder, _ = session.snapshot()
    if recorder is None:
        return {"recording": False, "errors": gate.counted()}
    identity = recorder.identity
    about: dict[str, object] = {
        "recording": True,
        "run": identity.run.id,
        "name": identity.run.name,
        "project": identity.run.project,
        "attempt": identity.run.attempt,
        "driver": recorder.driver,
        "producer": identity.producer,
        "directory": str(recorder.settings.directory),
        "errors": gate.counted(),
    }
    with gate.guard("status"):
        about["shipper"] = shipper_status(recorder.settings.directory)
        reader = _reader(recorder)
        if reader is not None:
            with closing(reader):
                counters, result = reader.counters(), _progress(reader)
                about |= {
                    "records": counters.last_sequence,
                    "sent": result.sent,
                    "waiting": result.journaled,
                    "waiting_bytes": reader.pending_bytes(),
                    "dropped": dict(counters.dropped),
                    "truncated": dict(counters.truncated),
                    "failed_calls": dict(counters.failed),
                }
    return about


def _reader(recorder: Recorder) -> LogReader | None:
    from ..journal import LogReader  # loaded by `init` already; `import rollscope` does without
    from .opening import log_folder

    folder = log_folder(recorder.settings.directory, recorder.identity.producer)
    return LogReader(folder) if recorder.journal is not None and folder.is_dir() else None


def _look(recorder: Recorder) -> FlushResult:
    reader = _reader(recorder)
    if reader is None:
        return _removed(recorder)
    with closing(reader):
        return _progress(reader)


def _progress(reader: LogReader) -> FlushResult:
    counters = reader.counters()
    produced = counters.last_sequence
    # Of a journal that was deleted nobody can say any more what had been sent, so none of it counts as sent.
    kept = produced - counters.deleted
    sent = kept if reader.drained() else min(reader.acknowledged(), kept)
    return FlushResult(sent, kept - sent, sum(counters.dropped.values()) + counters.deleted)


def _removed(recorder: Recorder) -> FlushResult:
    """Someone removed the journal's folder: how much of it had been sent nobody can say any more, so none of it counts as sent."""
    if recorder.journal is None:
        return FlushResult(0, 0, 0)
    gate.notice("journal_removed", f"the journal in {recorder.settings.directory} was removed while the run records; its records are lost")
    return FlushResult(0, 0, recorder.journal.last_sequence)
