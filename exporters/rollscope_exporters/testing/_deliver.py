"""Drives a backend as a worker does, without its processes and pauses."""

from __future__ import annotations

from collections.abc import Sequence

from ..backends import Backend, RejectedError
from ..records import Record


def deliver(backend: Backend, records: Sequence[Record]) -> list[Record]:
    """Write `records`, halving what is rejected until the culprits stand alone; returns those.

    Records of a signal that the backend does not accept are left out, as a worker leaves them out.
    """
    return _halve(backend, [record for record in records if record.signal in backend.accepts])


def _halve(backend: Backend, records: list[Record]) -> list[Record]:
    if not records:
        return []
    try:
        backend.write(records)
    except RejectedError:
        if len(records) == 1:
            return records
        middle = len(records) // 2
        return _halve(backend, records[:middle]) + _halve(backend, records[middle:])
    return []
