"""GPUs, by a stand-in for NVIDIA's library: no GPU is here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rollscope import vocabulary as v
from rollscope.shipper.hosts.gpus import GpuReader


@pytest.fixture
def _nvidia(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "nvidia"))


@pytest.mark.usefixtures("_nvidia")
def test_each_gpu_tells_what_it_can() -> None:
    """Utilisation and memory of both, temperature and power of the one that has them; units of the conventions."""
    found = [(reading.name, reading.attributes[v.HW_ID], reading.value) for reading in GpuReader().read()]
    assert found == [
        (v.METRIC_GPU_UTILIZATION, "0", 0.5),
        (v.METRIC_GPU_MEMORY_USAGE, "0", 250),
        (v.METRIC_GPU_MEMORY_LIMIT, "0", 1000),
        (v.METRIC_GPU_MEMORY_UTILIZATION, "0", 0.25),
        (v.METRIC_TEMPERATURE, "0", 61),
        (v.METRIC_POWER, "0", 350.0),
        (v.METRIC_GPU_UTILIZATION, "1", 0.51),
        (v.METRIC_GPU_MEMORY_USAGE, "1", 250),
        (v.METRIC_GPU_MEMORY_LIMIT, "1", 1000),
        (v.METRIC_GPU_MEMORY_UTILIZATION, "1", 0.25),
    ]
    assert {reading.attributes[v.HW_NAME] for reading in GpuReader().read()} == {"H100", "H100 MIG"}
