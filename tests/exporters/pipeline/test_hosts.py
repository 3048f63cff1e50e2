"""Host metrics in the bridge: scalars of the system view, counted as nobody's records."""

from __future__ import annotations

from pathlib import Path

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.shipper.hosts import Reading, host_items
from rollscope.shipper.otlp import assemble
from rollscope_exporters.records import StepMetrics

from ..bridge import SECOND, Bridge
from ..wire import NOW, Process, Request, process, requests


def sample(worker: Process, seconds: int, *readings: Reading) -> Request:
    """What a shipper sends of its host, `seconds` after the beginning."""
    return "metrics", assemble(host_items([worker.resource], NOW + seconds * SECOND, readings))


def disk(read: int) -> Reading:
    """Bytes read so far."""
    return Reading(v.METRIC_DISK_IO, read, {v.DISK_IO_DIRECTION: "read"})


def gpu(name: str, place: int, value: float) -> Reading:
    """A reading of one GPU."""
    return Reading(name, value, {v.HW_ID: str(place)})


def test_readings_become_scalars_without_a_step(tmp_path: Path) -> None:
    """Busy share, rates of counters, each GPU's utilisation, the hottest and the power of all; sent twice, they count once."""
    bridge = Bridge(tmp_path)
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        bridge.take(requests(worker.items()))
        idle = Reading(v.METRIC_CPU_UTILIZATION, 0.25, {v.CPU_MODE: "idle"})
        bridge.take([sample(worker, 0, disk(100))])
        second = sample(
            worker, 10, idle, disk(1100), gpu(v.METRIC_GPU_UTILIZATION, 0, 0.5), gpu(v.METRIC_GPU_UTILIZATION, 1, 0.75),
            gpu(v.METRIC_TEMPERATURE, 0, 50), gpu(v.METRIC_TEMPERATURE, 1, 61), gpu(v.METRIC_POWER, 0, 300), gpu(v.METRIC_POWER, 1, 200),
        )  # fmt: skip
        bridge.take([second, second])
        bridge.take([sample(worker, 20, disk(50))])
    (found,) = bridge.of(StepMetrics)
    assert (found.step, found.time) == (None, NOW + 10 * SECOND)
    assert found.values == {
        "system/host/cpu.utilization": 0.75,
        "system/host/disk.read.rate": 100.0,
        "system/host/gpu.0.utilization": 0.5,
        "system/host/gpu.1.utilization": 0.75,
        "system/host/gpu.temperature.max": 61,
        "system/host/gpu.power.sum": 500,
    }


def test_they_are_nobodys_records_and_no_news(tmp_path: Path) -> None:
    """Neither the ledger's numbers nor the end of the run know of them."""
    bridge = Bridge(tmp_path)
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        rs.log({"loss": 1.0}, step=1)
        bridge.take(requests(worker.items()))
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {v.RUN_STATUS: "finished"}, priority=0)
        bridge.take(requests(worker.items()))
        for n in range(8):
            bridge.take([sample(worker, 10 * n, disk(n))], 10.0)
    ledger = bridge.ledger().runs[0]
    assert (ledger.produced, ledger.received, ledger.unnumbered, ledger.status) == (3, 3, 0, "finished")
