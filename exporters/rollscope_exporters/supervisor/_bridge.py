"""The bridge from start to end."""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rollscope.journal import check_local
from rollscope.shipper import LOCK

from ..ledger import read_ledger
from ..receiver import Gate, Receiver
from ..settings import Settings
from ..uploads import under_way
from ._crew import PIPELINE, Crew
from ._embedded import Retirement
from ._lock import RemovedError, StorageLock
from ._log import log_to
from ._pages import bridge_pages
from ._progress import pending_bytes

_TICK = 0.1
INBOX = "inbox"

log = logging.getLogger("rollscope.bridge")


@dataclass(frozen=True, slots=True)
class BridgeOptions:
    """How the bridge was started."""

    config: Path | None = None
    """Configuration file, handed to the children."""
    embedded: bool = False
    """Started by a shipper: say nothing on the terminal and end when the work is done."""
    shipper_lock: Path | None = None
    """Lock of the shipper an embedded bridge works for."""
    extra: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Backend → `KEY=VALUE` settings besides the configuration."""


class Bridge:
    """Receiver, pipeline and workers on one storage folder."""

    def __init__(self, settings: Settings, options: BridgeOptions) -> None:
        """Take the storage. Raises LockedError, StorageError or JournalError, each with cause and cure."""
        self._settings = settings.model_copy(update={"storage": settings.storage.absolute()})
        self._options = options
        self._storage = self._settings.storage
        self._lock = StorageLock(self._storage)
        check_local(self._storage)
        log_to(self._storage, int(settings.limits.log), foreground=not options.embedded)
        token = settings.listen.token
        gate = Gate(token.get_secret_value() if token else None)
        pages = bridge_pages(gate, self._why_not_ready, self.status, self._ledger)
        self._receiver = Receiver(self._settings, self._storage / INBOX, gate, pages)
        self._crew = Crew(self._settings, options.config, options.extra)
        self._stop = asyncio.Event()
        self._listening = asyncio.Event()
        self._started = time.time()

    @classmethod
    async def serve(cls, settings: Settings, options: BridgeOptions) -> None:
        """Make a bridge and run it, inside an event loop."""
        await cls(settings, options).run()

    async def run(self) -> None:
        """Serve until SIGTERM, SIGINT or, embedded, until everything is done. Raises ListenError, RemovedError."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self.stop)
        try:
            await self._receiver.start()
            self._announce()
            await self._serve()
        except RemovedError as error:
            log.error("%s", error)
            self._crew.kill()
            self._listening.clear()
            raise
        finally:
            await self._receiver.stop()
            if self._listening.is_set():
                await self._drain()
            await asyncio.to_thread(self._crew.end)
            log.info("ended")
            self._lock.release()

    def stop(self) -> None:
        """Begin to end."""
        self._stop.set()

    async def started(self) -> None:
        """Return when the addresses are known and listened on."""
        await self._listening.wait()

    def _announce(self) -> None:
        grpc, http = self.addresses()
        self._lock.announce(grpc, http)
        self._listening.set()
        log.info("rollscope %s on %s: OTLP/gRPC %s, OTLP/HTTP %s", version("rollscope"), self._storage, grpc or "off", http or "off")

    def addresses(self) -> tuple[str | None, str | None]:
        """Return where gRPC and HTTP listen, `host:port`."""
        listen = self._settings.listen
        return _address(listen.grpc, self._receiver.grpc_port), _address(listen.http, self._receiver.http_port)

    async def _serve(self) -> None:
        retirement = self._retirement()
        while not self._stop.is_set():
            self._lock.check()
            await asyncio.to_thread(self._crew.tick)
            if retirement is not None and await asyncio.to_thread(retirement.due, time.monotonic()):
                log.info("nothing left to do; ending")
                return
            await self._pause()

    async def _pause(self) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), _TICK)
        except asyncio.TimeoutError:
            return

    def _retirement(self) -> Retirement | None:
        if not self._options.embedded:
            return None
        lock = self._options.shipper_lock or self._storage / "journal" / LOCK
        return Retirement(lock, self._idle_seconds, lambda: self._is_done() and not under_way(self._storage), self._crew.is_waiting)

    def _idle_seconds(self) -> float:
        return time.monotonic() - self._receiver.intake.last_request

    def _is_done(self) -> bool:
        return self._crew.progress(self._storage / INBOX).done

    async def _drain(self) -> None:
        """Go on delivering what was accepted, for a bounded time."""
        until = time.monotonic() + self._settings.workers.drain
        while time.monotonic() < until and not await asyncio.to_thread(self._is_done):
            await asyncio.to_thread(self._crew.tick)
            await asyncio.sleep(_TICK)

    def _why_not_ready(self) -> str:
        if not self._receiver.intake.open:
            return "ending"
        if self._crew.children[PIPELINE].pid is None:
            return "the pipeline does not run"
        return ""

    def _ledger(self, run: str | None) -> Any:
        return read_ledger(self._storage, run)

    def status(self) -> dict[str, Any]:
        """Describe the bridge, JSON-compatible."""
        grpc, http = self.addresses()
        intake = self._receiver.intake
        return {
            "version": version("rollscope"),
            "pid": os.getpid(),
            "started": self._started,
            "storage": str(self._storage),
            "listen": {"grpc": grpc, "http": http},
            "inbox": {"pending_bytes": pending_bytes(self._storage / INBOX), "limit_bytes": int(self._settings.limits.inbox)},
            "received": {"requests": dict(intake.accepted), "bytes": intake.bytes, "refused": dict(intake.refused)},
            "children": self._crew.status(),
            "problems": self._crew.problems,
        }


def _address(configured: str | None, port: int | None) -> str | None:
    if configured is None or port is None:
        return None
    return f"{configured.rpartition(':')[0]}:{port}"
