"""What a backend is: a class of a few methods that a worker process drives.

The worker owns everything hard: the durable position, retries, deadlines, splitting a failing batch, counting. A backend
only translates plain records into calls of its library. It is made anew in each process, told the state it returned last,
and handed records in order from the first unacknowledged one on; a record can therefore come twice after a crash, and
`write` must be idempotent, with the help of `checkpoint` where the library is not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel

from ..records import Record


class RejectedError(Exception):
    """When a record can never be taken: the worker sets it aside, counts and names it, and goes on with its neighbours."""


class UnavailableError(Exception):
    """When the backend cannot be reached now: the worker keeps the position and tries again later."""


class BusyError(UnavailableError):
    """When something of the backend's own has to be done first, as an upload of an hour: waiting is all that helps, no new process."""


@runtime_checkable
class Backend(Protocol):
    """One destination. Found by entry point group `rollscope.backends`."""

    Config: ClassVar[type[BaseModel]]
    """Its section of `rollscope.yaml`; an unknown key is an error."""

    accepts: ClassVar[frozenset[str]]
    """Signals it can take, out of `records.SIGNALS`."""

    per_run: ClassVar[bool]
    """Whether each run needs a process of its own (libraries that hold one run per process)."""

    def __init__(self, config: BaseModel, storage: Path, state: Mapping[str, object]) -> None:
        """Open the library. `storage` is the bridge's folder, in which the backend keeps a file or folder named after itself;
        `state` is what `checkpoint` last returned.

        Raises `UnavailableError` when a store cannot be reached, with the cure in the message.
        """

    def write(self, records: Sequence[Record]) -> None:
        """Deliver `records`, oldest first, all of `accepts`. Whole or not at all where the library allows it.

        Raises `RejectedError` for a record it can never take (the worker finds which by splitting) and
        `UnavailableError` when a retry may help; anything else is retried a few times, then treated as rejected.
        """

    def checkpoint(self) -> dict[str, object]:
        """Make everything written durable and return the state to be kept with the position (JSON-compatible).

        Its key `left_out`, a map of reason → run → count, tells the worker what a limit of the backend's own kept back.
        """

    def close(self) -> None:
        """Let go of the library; nothing may be lost after `checkpoint`."""
