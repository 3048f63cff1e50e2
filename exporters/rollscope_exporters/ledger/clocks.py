"""What the clocks of a run's machines differ by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .model import HostLine
from .states import ProducerState

TOLERANCE = 1.0
"""Seconds; with more than this between two machines, times of their records cannot be compared."""


def measure(producers: Iterable[ProducerState]) -> list[HostLine]:
    """One line for each host.

    A heartbeat arrives later than its own time by its delivery plus the offset of the clocks. The quickest of the latest ones on a host had
    next to no delivery, so what is left of it is the offset: too high by that delivery, never too low.
    """
    found: dict[str, HostLine] = {}
    for state in producers:
        if not state.host:
            continue
        line = found.setdefault(state.host, HostLine(host=state.host, producers=0))
        line.producers += 1
        if state.lags:
            offset = min(state.lags) / 1e9
            line.clock_offset = offset if line.clock_offset is None else min(line.clock_offset, offset)
    return [found[host] for host in sorted(found)]


def disagreements(hosts: Sequence[HostLine]) -> Iterator[str]:
    """A sentence for each clock that is off by more than `TOLERANCE`, against the bridge's or else between two hosts."""
    measured = sorted((line.clock_offset, line.host) for line in hosts if line.clock_offset is not None)
    off = [(offset, host) for offset, host in measured if abs(offset) > TOLERANCE]
    for offset, host in off:
        # Late records look like a clock that is behind; nothing but a clock lets them come before their time.
        way = "behind the bridge's, or all that it sends arrives so late" if offset > 0 else "ahead of the bridge's"
        yield f"the clock of {host} is {abs(offset):.1f} s {way}"
    if measured and not off and measured[-1][0] - measured[0][0] > TOLERANCE:
        (least, ahead), (most, behind) = measured[0], measured[-1]
        yield f"the clock of {behind} is {most - least:.1f} s behind that of {ahead}"
