"""Where ids come from: the operating system's entropy, or a digest that every process computes alike.

Training code seeds `random` and numpy on every rank; ids drawn from them repeat (opentelemetry-python#4376). Those here
come from `os.urandom`, in a forked child too.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from struct import unpack
from typing import Protocol, TypeVar, cast

from .digests import blake2b
from .records import SpanId, TraceId

__all__ = ["EntropyIds", "Ids", "run_id", "trajectory_trace_id"]

_BLOCK = 2048
B = TypeVar("B", SpanId, TraceId)


class Ids(Protocol):
    """A source of ids."""

    def trace_id(self) -> TraceId:
        """Return 16 bytes, not all zero."""
        ...

    def span_id(self) -> SpanId:
        """Return 8 bytes, not all zero."""
        ...

    take_span_id: Callable[[], SpanId]
    """`span_id`, but may raise `IndexError` when it has to be called instead."""
    take_trace_id: Callable[[], TraceId]
    """`trace_id`, but may raise `IndexError` when it has to be called instead."""

    def producer_id(self) -> str:
        """Return 16 hex digits."""
        ...

    def reseed(self) -> None:
        """Start an independent series; called in a forked child."""
        ...


class EntropyIds:
    """Ids cut from blocks of the operating system's entropy; none of Python's generators takes part."""

    def __init__(self) -> None:
        self._spans: list[SpanId] = []
        self._traces: list[TraceId] = []
        # Built-ins: half the price of the methods below, which fill the pools again.
        self.take_span_id: Callable[[], SpanId] = self._spans.pop
        self.take_trace_id: Callable[[], TraceId] = self._traces.pop

    def trace_id(self) -> TraceId:
        """Return 16 random bytes."""
        try:
            return self.take_trace_id()
        except IndexError:
            return _more(self._traces, 16)

    def span_id(self) -> SpanId:
        """Return 8 random bytes."""
        try:
            return self.take_span_id()
        except IndexError:
            return _more(self._spans, 8)

    def producer_id(self) -> str:
        """Return 16 hex digits."""
        return os.urandom(8).hex()

    def reseed(self) -> None:
        """Throw away what a forked child shares with its parent."""
        self._spans.clear()
        self._traces.clear()


def _more(pool: list[B], size: int) -> B:
    """Fill `pool` with ids, one system call for all of them, and return one more. An id that is all zero would be invalid."""
    ids: tuple[bytes, ...] = ()
    while not ids or bytes(size) in ids:
        ids = unpack(f"{size}s" * (_BLOCK // size), os.urandom(_BLOCK))
    pool.extend(cast("tuple[B, ...]", ids[1:]))
    return cast("B", ids[0])


def run_id() -> str:
    """Return 16 hex digits for a new run."""
    return os.urandom(8).hex()


def trajectory_trace_id(
    run: str, *, step: int | None, group: str | None, index: int | None, attempt: int = 0, split: str = "train"
) -> TraceId:
    """Return the trace id of a trajectory, equal in every process that knows its coordinates.

    The split takes part unless it is `train`, so that a validation rollout never meets a training one of the same step and group.
    """
    parts = (run, step, group, index, attempt) if split == "train" else (run, step, group, index, attempt, split)
    raws = [b"\xff" if part is None else str(part).encode("utf-8", "surrogatepass") for part in parts]
    # One call of the hash function over all of it, which costs as much as each of many would.
    whole = b"".join([len(raw).to_bytes(4, "big") + raw for raw in raws])
    return TraceId(blake2b(whole, digest_size=16, person=b"rollscope").digest())
