"""From numbers to words."""

from __future__ import annotations

from collections.abc import Iterator

from .clocks import disagreements
from .model import BackendLine, ProducerLine, RunLedger

SILENT = 120 * 1_000_000_000
"""A producer that was not heard of for this long, after its run or itself has ended, will not be: ns.

A Collector has several queues, so that last words may overtake records."""


def judge(run: RunLedger, now: int) -> None:
    """Set `verdict`, `settled`, `reasons` and `notes` of `run`; `now` in Unix ns."""
    lost = list(_lost(run, now))
    moving = list(_moving(run, now))
    run.reasons, run.settled = lost + moving, not moving
    run.notes = list(_notes(run))
    if lost:
        run.verdict = f"incomplete: {'; '.join(lost)}"
    else:
        run.verdict = "delivering" if moving else "complete"


def _over(run: RunLedger) -> bool:
    return run.status not in ("running", "ending")


def _lost(run: RunLedger, now: int) -> Iterator[str]:
    """What will not come any more."""
    for producer in run.producers:
        if producer.dropped:
            yield f"{producer.label} dropped {_sum(producer.dropped)} ({_by_reason(producer.dropped)})"
        if producer.missing > producer.lost and producer.final and now - producer.heard > SILENT:
            yield f"{_records(producer.missing - producer.lost)} of {producer.label} never arrived (numbers {_ranges(producer)})"
        elif _over(run) and not producer.final and now - producer.heard > SILENT:
            minutes = (now - producer.heard) // 60_000_000_000
            lacking = f"{_records(producer.missing)} of it missing, " if producer.missing else ""
            yield (
                f"{producer.label} never said it was done and has been silent for {minutes} min ({lacking}"
                "`rollscope ship DIR` on its node sends what is left)"
            )
    if _over(run):
        yield from (f"{rank} was never heard of" for rank in run.unheard)
    for backend in run.backends:
        if backend.unknown:
            yield f"the run asked for {backend.backend!r}: {backend.unknown.rstrip('.')}"
        elif _given_up(backend, run, now):
            yield f"{backend.backend} has never been started (is it installed and configured? see bridge.log)"


def _moving(run: RunLedger, now: int) -> Iterator[str]:
    """What is still to come."""
    if not _over(run):
        yield "the run has not ended" if run.status == "running" else "the end of the run waits for what was recorded before it"
    on_their_way = [p for p in run.producers if p.missing > p.lost and not (p.final and now - p.heard > SILENT)]
    if on_their_way:
        missing = sum(producer.missing - producer.lost for producer in on_their_way)
        yield f"{_records(missing)} of {_count(len(on_their_way), 'process', 'processes')} have not reached the bridge yet"
    if _over(run):
        for producer in run.producers:
            if not producer.final and not producer.missing and now - producer.heard <= SILENT:
                yield f"{producer.label} has not said that it is done"
    if run.waiting:
        yield f"{_records(run.waiting)} wait for the rest of their trajectory"
    for backend in run.backends:
        if not backend.unknown and not _given_up(backend, run, now):
            yield from _behind(backend)


def _given_up(backend: BackendLine, run: RunLedger, now: int) -> bool:
    """Whether a wanted backend has still not been started long after the end of the run."""
    return not backend.started and _over(run) and now - max((producer.heard for producer in run.producers), default=now) > SILENT


def _behind(backend: BackendLine) -> Iterator[str]:
    if not backend.started and not backend.waits:
        yield f"{backend.backend} has never been started (is it installed and configured? see bridge.log)"
    elif backend.pending_rows:
        yield f"{backend.backend} has {_records(backend.pending)} still to take{f' and waits: {backend.waits}' if backend.waits else ''}"
    if backend.uploads:
        yield f"{_count(backend.uploads, 'checkpoint is', 'checkpoints are')} on the way to {backend.backend}"


def _notes(run: RunLedger) -> Iterator[str]:
    if run.set_aside:
        yield f"{_sum(run.set_aside)} without number could not be used ({_by_reason(run.set_aside)})"
    if run.repaired:
        yield f"{_count(sum(run.repaired.values()), 'item', 'items')} had to be repaired ({_by_reason(run.repaired)})"
    if run.repeated:
        repeated = _count(run.repeated, "trajectory", "trajectories")
        yield (
            f"{repeated} with the step, group, index and attempt of another one {'was' if run.repeated == 1 else 'were'} joined with it "
            f"(first: {run.repeated_first}): a group's name must mean the same group in all processes, a retry needs another `attempt`"
        )
    if run.redacted:
        yield f"the bridge redacted {_count(sum(run.redacted.values()), 'value', 'values')} ({_by_reason(run.redacted)})"
    yield from disagreements(run.hosts)
    for backend in run.backends:
        for entry in backend.set_aside[:10]:
            yield f"{backend.backend} could not take {entry.what}: {entry.reason}"
        if len(backend.set_aside) > 10:
            yield f"{backend.backend} could not take {len(backend.set_aside) - 10} more"
        yield from (f"{backend.backend} could not upload {what}" for what in backend.uploads_failed[:10])
        if backend.left_out:
            yield f"{_sum(backend.left_out)} were left out of {backend.backend} ({_by_reason(backend.left_out)})"
    for producer in run.producers:
        if producer.set_aside:
            yield f"{_sum(producer.set_aside)} of {producer.label} could not be used ({_by_reason(producer.set_aside)})"
        if producer.abnormal:
            yield f"{producer.label} ended without finishing"
        if producer.failed_calls:
            calls = _count(sum(producer.failed_calls.values()), "call", "calls")
            yield f"{calls} of {producer.label} recorded nothing because of what they were given ({_by_reason(producer.failed_calls)})"
        if producer.truncated:
            shortened = sum(producer.truncated.values())
            yield f"{producer.label} shortened or replaced {_count(shortened, 'value', 'values')} ({_by_reason(producer.truncated)})"


def _ranges(producer: ProducerLine) -> str:
    ranges = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in producer.missing_numbers)
    shown = sum(last - first + 1 for first, last in producer.missing_numbers)
    return ranges if shown >= producer.missing else f"{ranges}, …"


def _by_reason(counts: dict[str, int]) -> str:
    return ", ".join(f"{reason}: {n}" for reason, n in sorted(counts.items(), key=lambda item: -item[1]))


def _sum(counts: dict[str, int]) -> str:
    return _records(sum(counts.values()))


def _records(n: int) -> str:
    return _count(n, "record", "records")


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
