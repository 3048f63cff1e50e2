"""Which metrics are those of hosts: the bridge makes them without a step, under `system/<host>/`."""

from __future__ import annotations

from ..records import StepMetrics

PREFIX = "system/"


def is_of_host(record: StepMetrics) -> bool:
    """Whether `record` says how a host is doing, and not how training is."""
    return record.step is None and bool(record.values) and all(name.startswith(PREFIX) for name in record.values)
