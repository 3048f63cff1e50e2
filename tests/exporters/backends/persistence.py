"""Delivering as a worker does: again, while a backend cannot take records now."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from rollscope_exporters.backends import Backend, UnavailableError
from rollscope_exporters.records import Record
from rollscope_exporters.testing import deliver
from tests.waiting import until


def deliver_at_last(backend: Backend, records: Sequence[Record]) -> None:
    """Write `records` until the backend has taken them all; on a slow machine a client may need longer than one try gives it."""

    def taken() -> bool:
        with contextlib.suppress(UnavailableError):
            return deliver(backend, records) == []
        return False

    until(taken, 120, say="the backend does not take the records")
