"""The durable inbox: many requests appended, one sync for all of them, then each is acknowledged."""

from __future__ import annotations

import asyncio
import logging
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec

from rollscope.files import disk, room
from rollscope.journal import BYTE_LIMIT, DISK_FULL, Journal, JournalError

INBOX_LANE = 0
"""One lane keeps the order of arrival, and lane 0 is never given up for another."""

_SEGMENT = 32 << 20
"""Bytes of a segment: room for many requests, and quick to be given back."""

_KEPT_FREE = 160 << 20
"""Bytes of the disk, or half of it if that is less, that are left to the store and the backends: without room they could not work off
what is here."""

log = logging.getLogger("rollscope.receiver")
_encode = msgspec.msgpack.Encoder().encode


class InboxFullError(Exception):
    """When the byte limit is reached or the disk is full."""


class Inbox:
    """A log folder that is synced in groups.

    While one sync runs in its thread, further requests append and wait for the next: the busier the bridge, the more
    requests share a sync, and latency stays at two syncs.
    """

    def __init__(self, folder: Path, limit: int) -> None:
        self._segment = min(_SEGMENT, limit // 8)
        self._keep_free = _kept_free(folder)
        self._journal = Journal(
            folder, meta={"kind": "inbox"}, limit=limit, segment_bytes=self._segment, fsync=True, keep_free=self._keep_free
        )
        self._limit = limit
        self._why = ""
        """Why the last request found no room; empty when it did."""
        self._waiting: list[asyncio.Future[None]] = []
        self._syncing: asyncio.Task[None] | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="inbox-sync")

    async def put(self, signal: str, payload: bytes) -> None:
        """Append `payload` and return when it is on disk. Raises InboxFullError; JournalError when the disk fails or the folder is gone."""
        entry = _encode((signal, time.time_ns(), payload))
        if self._journal.append(entry, INBOX_LANE) < 0:
            raise InboxFullError(self._refused(len(entry)))
        if self._why:
            log.info("the inbox takes requests again")
            self._why = ""
        waiter = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        if self._syncing is None:
            self._syncing = asyncio.create_task(self._sync_groups())
        await waiter

    def _refused(self, size: int) -> str:
        """Say why there is no room for `size` bytes, what there is, and what to do; logs it when it is new."""
        why = self._journal.refusal(INBOX_LANE)
        folder = self._journal.folder
        if why == DISK_FULL:
            kept, needed = self._keep_free >> 20, (max(self._segment, size) + self._keep_free) / (1 << 20)
            said = (
                f"the disk under {folder} has no room for the inbox: {room(folder)}, the last {kept} MiB are left to the store; "
                f"with {needed:.0f} MiB and more it goes on by itself"
            )
        elif why == BYTE_LIMIT:
            said = (
                f"the inbox {folder} is full: {self._limit >> 20} MiB wait to be processed (limits.inbox); "
                "the store or a backend is behind, see `rollscope ledger` and bridge.log"
            )
        else:
            said = f"the inbox {folder} takes no more ({why or 'its bridge is ending'}); {room(folder)}"
        if why != self._why:
            log.error("%s", said)
        self._why = why or "ending"
        return said

    async def _sync_groups(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                group, self._waiting = self._waiting, []
                try:
                    await loop.run_in_executor(self._thread, self._sync)
                except JournalError as error:
                    _settle(group, error)
                else:
                    _settle(group, None)
        finally:
            self._syncing = None

    def _sync(self) -> None:
        self._journal.sync()
        if self._journal.deleted():  # what is on disk in a file without a name is lost all the same
            raise JournalError(f"the inbox {self._journal.folder} was removed while its bridge runs: start the bridge again")

    async def close(self) -> None:
        """Sync what is left and let the log go."""
        while self._syncing:
            await asyncio.wait([self._syncing])
        self._thread.shutdown()
        self._journal.sync()
        self._journal.close()


def _kept_free(folder: Path) -> int:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return min(_KEPT_FREE, disk(folder).whole // 2)
    except OSError:  # opening the journal says what is wrong
        return _KEPT_FREE


def _settle(group: list[asyncio.Future[None]], error: JournalError | None) -> None:
    for waiter in group:
        if waiter.done():  # its caller was cancelled; the entry is durable all the same
            continue
        if error:
            waiter.set_exception(error)
        else:
            waiter.set_result(None)
