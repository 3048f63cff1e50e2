"""What both transports do with a request: check that it parses, make it durable, count."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from google.protobuf.message import DecodeError

from rollscope.journal import JournalError

from ._inbox import InboxFullError
from ._signals import Signal

RETRY_AFTER = 2
"""Seconds a sender is asked to wait when the inbox is full."""

IN_FLIGHT = 256 << 20
"""Bytes of HTTP bodies that are read at the same time, at most; beyond it senders are told to wait."""


class GarbageError(Exception):
    """When a request is not what it claims to be; sending it again is of no use."""


class FullError(Exception):
    """When nothing can be taken at the moment; the sender keeps its data and tries again."""


class Durable(Protocol):
    """Where accepted requests go."""

    async def put(self, signal: str, payload: bytes) -> None:
        """Return when `payload` is safe."""


class Intake:
    """Takes requests of every transport; its counters are shown in `/v1/status`."""

    def __init__(self, inbox: Durable) -> None:
        self._inbox = inbox
        self.accepted: Counter[str] = Counter()
        self.bytes = 0
        self.refused: Counter[str] = Counter()
        self.last_request = time.monotonic()
        self.in_flight = 0
        self.open = True

    async def accept(self, signal: Signal, payload: bytes) -> None:
        """Check `payload` and return when it is on disk. Raises GarbageError or FullError."""
        self.last_request = time.monotonic()
        if not self.open:
            raise self.refuse("ending", FullError("the bridge is ending; try again"))
        self._check(signal, payload)
        if payload:
            await self._store(signal, payload)
        self.accepted[signal.name] += 1
        self.bytes += len(payload)

    @contextmanager
    def holding(self) -> Iterator[Callable[[int], None]]:
        """Give a function to be called with the size of each piece read; it raises FullError when too much is held at once."""
        held = 0

        def hold(size: int) -> None:
            nonlocal held
            if self.in_flight + size > IN_FLIGHT:
                raise self.refuse("busy", FullError("too much is coming in at once; try again"))
            self.in_flight += size
            held += size

        try:
            yield hold
        finally:
            self.in_flight -= held

    def refuse(self, reason: str, error: Exception) -> Exception:
        """Count a refusal and return `error` for raising."""
        self.refused[reason] += 1
        return error

    def _check(self, signal: Signal, payload: bytes) -> None:
        try:
            signal.request.FromString(payload)
        except DecodeError as error:
            name = signal.request.DESCRIPTOR.name
            raise self.refuse("garbage", GarbageError(f"{len(payload)} bytes are no {name}: {error}")) from None

    async def _store(self, signal: Signal, payload: bytes) -> None:
        try:
            await self._inbox.put(signal.name, payload)
        except InboxFullError as error:
            raise self.refuse("full", FullError(f"{error}; try again later")) from None
        except JournalError as error:
            raise self.refuse("disk", FullError(f"{error}; try again later")) from None
