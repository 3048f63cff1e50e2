"""CPU, memory, disk and network of this host, by psutil."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psutil

from ... import vocabulary as v
from .reading import Reading

_MODES = ("user", "system", "iowait", "idle")


class SystemReader:
    """Reads the host; shares of CPU time are those since the last call."""

    def __init__(self, folder: Path) -> None:
        """`folder`: the file system that is watched is the one it lies on."""
        self._mountpoint = _mountpoint(folder)
        psutil.cpu_times_percent()  # the first call has nothing to compare with

    def read(self) -> Iterator[Reading]:
        """A reading of each kind; what this host does not tell is left out."""
        yield from _cpu()
        yield from _memory()
        yield from _filesystem(self._mountpoint)
        yield from _disks()
        yield from _network()


def _cpu() -> Iterator[Reading]:
    shares = psutil.cpu_times_percent()._asdict()
    for mode in _MODES:
        if mode in shares:
            yield Reading(v.METRIC_CPU_UTILIZATION, shares[mode] / 100, {v.CPU_MODE: mode})


def _memory() -> Iterator[Reading]:
    memory = psutil.virtual_memory()
    used = memory.total - memory.available
    yield Reading(v.METRIC_MEMORY_USAGE, used, {v.MEMORY_STATE: "used"})
    yield Reading(v.METRIC_MEMORY_UTILIZATION, used / memory.total, {v.MEMORY_STATE: "used"})
    yield Reading(v.METRIC_MEMORY_LIMIT, memory.total, {})
    yield Reading(v.METRIC_PAGING_USAGE, psutil.swap_memory().used, {v.PAGING_STATE: "used"})


def _filesystem(mountpoint: str) -> Iterator[Reading]:
    usage = psutil.disk_usage(mountpoint)
    attributes = {v.FILESYSTEM_STATE: "used", v.FILESYSTEM_MOUNTPOINT: mountpoint}
    yield Reading(v.METRIC_FILESYSTEM_USAGE, usage.used, attributes)
    yield Reading(v.METRIC_FILESYSTEM_UTILIZATION, usage.used / usage.total if usage.total else 0.0, attributes)


def _disks() -> Iterator[Reading]:
    disks = psutil.disk_io_counters()
    if disks is not None:
        yield Reading(v.METRIC_DISK_IO, disks.read_bytes, {v.DISK_IO_DIRECTION: "read"})
        yield Reading(v.METRIC_DISK_IO, disks.write_bytes, {v.DISK_IO_DIRECTION: "write"})


def _network() -> Iterator[Reading]:
    interfaces = [counters for name, counters in psutil.net_io_counters(pernic=True).items() if name != "lo"]
    if interfaces:
        yield Reading(v.METRIC_NETWORK_IO, sum(each.bytes_recv for each in interfaces), {v.NETWORK_IO_DIRECTION: "receive"})
        yield Reading(v.METRIC_NETWORK_IO, sum(each.bytes_sent for each in interfaces), {v.NETWORK_IO_DIRECTION: "transmit"})


def _mountpoint(folder: Path) -> str:
    place = folder.absolute()
    while not place.is_mount() and place != place.parent:
        place = place.parent
    return str(place)
