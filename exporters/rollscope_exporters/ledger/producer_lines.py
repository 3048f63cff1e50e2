"""What each producer of a run wrote, and what of it came, is lost or is on its way."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import msgspec

from . import totals
from .model import ProducerLine
from .sequences import SequenceSet
from .states import ProducerState
from .verdict import SILENT

_decode = msgspec.msgpack.Decoder(ProducerState).decode

States = Sequence[tuple[str, ProducerState]]
"""Producers of one run and what the pipeline keeps of each."""


def read_states(db: sqlite3.Connection, run: str) -> States:
    """Read what the pipeline keeps of the producers of `run`."""
    rows = db.execute("SELECT producer, state FROM producers WHERE run = ? ORDER BY producer", (run,))
    return [(producer, _decode(state)) for producer, state in rows]


def producer_lines(db: sqlite3.Connection, states: States, now: int) -> Iterable[ProducerLine]:
    """Yield a line for each producer, by role and rank. `now`: Unix ns."""
    for producer, state in sorted(states, key=lambda each: (each[1].role, each[1].rank or 0, each[0])):
        dropped, lost = _dropped(db, producer, state, now)
        yield ProducerLine(
            producer=producer,
            role=state.role,
            rank=state.rank,
            host=state.host,
            pid=state.pid,
            attempt=state.attempt,
            produced=state.produced,
            received=state.received,
            missing=state.produced - state.received,
            missing_numbers=_missing(db, producer, state),
            duplicate=state.duplicates,
            waiting=state.received - totals.of_producer(db, producer) - sum(state.set_aside.values()),
            lost=lost,
            dropped=dropped,
            truncated=state.truncated,
            failed_calls=state.failed_calls,
            set_aside=state.set_aside,
            final=state.final,
            abnormal=state.abnormal,
            heard=state.heard,
            open_spans=state.open_spans,
            open_span_count=state.open_span_count,
        )


def _dropped(db: sqlite3.Connection, producer: str, state: ProducerState, now: int) -> tuple[dict[str, int], int]:
    """Return records lost by reason, and how many of them had a number."""
    numbered = state.lost
    missing = state.produced - state.received
    if not (state.deleted_upto and missing and now - state.deleted_since > SILENT):
        return state.dropped, min(numbered, missing)
    gone = max(0, _seen(db, producer, state).lacking(state.deleted_upto) - numbered)
    return {**state.dropped, **({"journal deleted": gone} if gone else {})}, min(numbered + gone, missing)


def _missing(db: sqlite3.Connection, producer: str, state: ProducerState) -> list[tuple[int, int]]:
    if state.received >= state.produced:
        return []
    return _seen(db, producer, state).missing(state.produced)


def _seen(db: sqlite3.Connection, producer: str, state: ProducerState) -> SequenceSet:
    return SequenceSet.load(db, producer, first=state.first_page, count=state.received, highest=state.highest)


def unheard(states: States) -> Iterable[str]:
    """Ranks missing among producers of one role that know how many they are, in the latest attempt."""
    attempt = max((state.attempt for _, state in states), default=0)
    heard: dict[tuple[str, int], set[int]] = {}
    for _, state in states:
        if state.rank is not None and state.world_size and state.attempt == attempt:
            heard.setdefault((state.role, state.world_size), set()).add(state.rank)
    for (role, size), ranks in sorted(heard.items()):
        yield from (f"{role or 'process'} rank {rank} of {size}" for rank in range(size) if rank not in ranks)
