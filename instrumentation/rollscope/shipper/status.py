"""`shipper.json`: what the shipper does now, for `rollscope.status()` and `rollscope doctor`."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

from ..files import replace_file
from .delivery import Sent

NAME = "shipper.json"
_log = logging.getLogger(__name__)


class Status(msgspec.Struct):
    """Written every few seconds and at the end."""

    pid: int = msgspec.field(default_factory=os.getpid)
    state: str = "starting"
    """`starting`, `working`, `waiting` (something cannot be delivered now, `error` says why), `failed`, `ended`."""
    endpoint: str = ""
    started: float = msgspec.field(default_factory=time.time)
    """Unix time, seconds; as are all times here."""
    updated: float = 0.0
    producers: int = 0
    """Logs on this node that are not done with."""
    waiting: int = 0
    """Records in the journals that are not acknowledged yet."""
    sent: dict[str, int] = {}
    """Records accepted since the start, by channel (a signal, or `tokens`); `requests` and `bytes` in all."""
    rejected: int = 0
    set_aside: dict[str, int] = {}
    """Records the peer will never take, by reason."""
    error: str = ""
    """Why the last attempt failed, empty when it did not."""
    error_since: float | None = None

    def failing(self, detail: str) -> None:
        """Note a failed attempt; logs the first of a row."""
        if self.error_since is None:
            self.error_since = time.time()
            _log.warning("waiting for %s: %s", self.endpoint, detail)
        self.error, self.state = detail, "waiting"

    def working(self) -> None:
        """Note that things go well."""
        if self.error_since is not None:
            _log.info("%s is back after %.0f s", self.endpoint, time.time() - self.error_since)
        self.error, self.error_since, self.state = "", None, "working"

    def count(self, sent: Iterable[Sent]) -> None:
        """Take the counts of what was delivered, one for each sender."""
        self.sent, self.rejected = {}, 0
        for each in sent:
            for name, n in {**each.records, "requests": each.requests, "bytes": each.bytes}.items():
                self.sent[name] = self.sent.get(name, 0) + n
            self.rejected += each.rejected

    def write(self, directory: Path) -> None:
        """Replace the file; a full disk costs the status, not the work."""
        self.updated = time.time()
        try:
            replace_file(directory / NAME, msgspec.json.encode(self))
        except OSError as error:
            _log.error("%s cannot be written: %s", NAME, error)
