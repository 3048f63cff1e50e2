"""Bring a batch into a backend: retry, wait, or split it until the one bad record is set aside."""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence
from typing import TypeVar

from ..backends import Backend, BusyError, RejectedError, UnavailableError
from ..beats import BeatFile
from ..positions import SetAside
from ..records import Record
from ._feed import Item
from ._position import PositionFile

RETRIES = 3
"""Tries of a batch that fails for no reason the backend names."""
TRIES_UNTIL_RESTART = 10
"""Waits in a row after which the process is started anew: some libraries only recover that way."""
_FIRST_PAUSE = 0.5
_NOT_NOW = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EMFILE, errno.ENFILE, errno.EROFS, errno.ENOMEM}

Result = TypeVar("Result")


class Stopped(Exception):
    """When the worker is told to end while it waits."""


class RestartNeeded(Exception):
    """When the backend stays out of reach; the supervisor starts a new process."""


class Delivery:
    """Drives one backend. `wait(seconds)` returns True when the worker is to end."""

    def __init__(self, backend: Backend, position: PositionFile, beat: BeatFile, wait: Callable[[float], bool], max_pause: float) -> None:
        self._backend, self._position, self._beat = backend, position, beat
        self._wait, self._max_pause = wait, max_pause
        self.doubt = ""
        """What is being found out about a record, for the status."""

    def deliver(self, items: Sequence[Item]) -> None:
        """Deliver `items` and move the position past them. Raises Stopped or RestartNeeded, with the position kept."""
        if not items:
            return
        failure = items[0].error if len(items) == 1 and items[0].record is None else self.write(items)
        if failure is None or len(items) == 1:
            self.settle([(items[-1], failure)])
        else:
            middle = len(items) // 2
            self.deliver(items[:middle])
            self.deliver(items[middle:])

    def settle(self, outcomes: Sequence[tuple[Item, str | None]]) -> None:
        """Move the position past the last of `outcomes`, in one step; set those aside that have a reason beside them."""
        for item, reason in outcomes:
            if reason is not None:
                self._set_aside(item, reason)
        self.advance(*outcomes[-1][0].reached)

    def advance(self, upto: int, parts: int = 0) -> None:
        """Move the position to `upto` and `parts` records of the row behind it, on disk."""
        self._position.advance(upto, parts)
        self._until_available(self._position.save)

    def _set_aside(self, item: Item, reason: str) -> None:
        entry = SetAside(item.id, item.run, item.what, reason[:1000])
        self._until_available(lambda: self._position.set_aside(entry, item.record))

    def write(self, items: Sequence[Item]) -> str | None:
        """Return None when all is in the backend, or why it cannot be; the position stays. Raises Stopped or RestartNeeded."""
        records = [item.record for item in items if item.record is not None]
        if len(records) < len(items):
            return "a record of the batch cannot be decoded"
        failure = None
        for tries in range(1, RETRIES + 1):
            failure, final = self._try(records)
            if final:
                break
            self._pause(min(_FIRST_PAUSE * 2 ** (tries - 1), self._max_pause), failure or "", tries)
        if failure is None:
            self._checkpoint()
        return failure

    def _try(self, records: Sequence[Record]) -> tuple[str | None, bool]:
        """Write once; return the failure and whether that is the last word."""
        try:
            self._until_available(lambda: self._backend.write(records))
        except (Stopped, RestartNeeded):
            raise
        except RejectedError as error:
            return str(error) or "rejected", True
        except Exception as error:  # noqa: BLE001 - a library may raise anything; the record is set aside under this name
            return _said(error), False
        return None, True

    def _checkpoint(self) -> None:
        """Ask for durability until it is there: what is written must not be written again for its sake."""
        for tries in range(1, TRIES_UNTIL_RESTART + 1):
            failure = self._try_checkpoint()
            if failure is None:
                return
            self._pause(min(_FIRST_PAUSE * 2 ** (tries - 1), self._max_pause), f"checkpoint: {failure}", tries)
        raise RestartNeeded("checkpoint fails")

    def _try_checkpoint(self) -> str | None:
        try:
            self._position.checkpointed(self._until_available(self._backend.checkpoint))
        except (Stopped, RestartNeeded):
            raise
        except Exception as error:  # noqa: BLE001 - same; shown in the status and tried again
            return _said(error)
        return None

    def _until_available(self, call: Callable[[], Result]) -> Result:
        pause, tries, reason = _FIRST_PAUSE, 0, ""
        while tries < TRIES_UNTIL_RESTART:
            self._beat("writing", reason=reason or self.doubt, failures=tries, position=self._position.current.position)
            try:
                return call()
            except Exception as error:
                if not is_outage(error):
                    raise
                reason = _said(error)
                tries += not isinstance(error, BusyError)
            self._pause(pause, reason, tries)
            pause = min(pause * 2, self._max_pause)
        raise RestartNeeded(reason)

    def _pause(self, seconds: float, reason: str, failures: int) -> None:
        while seconds > 0:
            self._beat("waiting", reason=reason, failures=failures, position=self._position.current.position)
            if self._wait(min(seconds, 1.0)):
                raise Stopped(reason)
            seconds -= 1.0


def is_outage(error: Exception) -> bool:
    """Say whether the fault lies in the surroundings and not in a record."""
    if isinstance(error, (UnavailableError, ConnectionError, TimeoutError, MemoryError)):
        return True
    return isinstance(error, OSError) and error.errno in _NOT_NOW


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
