"""This host, read for real."""

from __future__ import annotations

from pathlib import Path

import psutil

from rollscope import vocabulary as v
from rollscope.shipper.hosts.system import SystemReader


def test_every_kind_is_read(tmp_path: Path) -> None:
    """Shares are shares, bytes are what psutil says, names and units are the vocabulary's."""
    readings = list(SystemReader(tmp_path).read())
    by_name = {name: [reading for reading in readings if reading.name == name] for name in {reading.name for reading in readings}}
    assert all(("metric", name) in v.REGISTRY for name in by_name)
    assert [reading.attributes[v.CPU_MODE] for reading in by_name[v.METRIC_CPU_UTILIZATION]] == ["user", "system", "iowait", "idle"]
    shares = (v.METRIC_CPU_UTILIZATION, v.METRIC_MEMORY_UTILIZATION, v.METRIC_FILESYSTEM_UTILIZATION)
    assert all(0 <= reading.value <= 1 for name in shares for reading in by_name[name])
    assert by_name[v.METRIC_MEMORY_LIMIT][0].value == psutil.virtual_memory().total
    mountpoint = by_name[v.METRIC_FILESYSTEM_USAGE][0].attributes[v.FILESYSTEM_MOUNTPOINT]
    assert tmp_path.is_relative_to(mountpoint)
    assert Path(mountpoint).is_mount()
    assert len(readings) <= 20
