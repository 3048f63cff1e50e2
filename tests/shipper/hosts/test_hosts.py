"""What the shipper says about its host: sampled beside the runs, for each of them, and in nobody's way."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope.shipper.hosts import SCOPE, Reading, Sampler, host_items
from rollscope.shipper.otlp import assemble
from rollscope_exporters.decode import decode
from tests.waiting import until

from ..peers import Peer, http_peer, values
from ..processes import environment
from ..producers import open_log, span_end, write

NVIDIA = Path(__file__).parent / "nvidia"


def host_metrics(peer: Peer) -> list[Any]:
    """Resources with host metrics, in the order they came."""
    return [
        group
        for received in peer.taken
        if received.signal == "metrics"
        for group in received.message.resource_metrics
        if any(scope.scope.name == SCOPE for scope in group.scope_metrics)
    ]


def test_one_item_a_run() -> None:
    """Whatever the number of producers; its resource is the host and the run, and no producer's."""
    resources: list[dict[str, object]] = [
        {v.RUN_ID: run, v.RUN_NAME: "n", v.HOST_NAME: "node-0", v.PRODUCER_ID: producer, v.WORKER_RANK: 3}
        for run, producer in (("a", "1"), ("a", "2"), ("b", "3"))
    ]
    readings = [Reading(v.METRIC_DISK_IO, 5, {v.DISK_IO_DIRECTION: "read"}), Reading(v.METRIC_GPU_UTILIZATION, 0.5, {v.HW_ID: "0"})]
    items = host_items([*resources, {}], 7_000, readings)
    groups = [decode("metrics", assemble([item]))[0] for item in items]
    assert [group.resource for group in groups] == [
        {v.HOST_NAME: "node-0", v.RUN_ID: run, v.RUN_NAME: "n", v.SERVICE_INSTANCE_ID: "node-0"} for run in ("a", "b")
    ]
    assert [(point.name, point.time, point.values, point.scope) for point in groups[0].points] == [
        (v.METRIC_DISK_IO, 7_000, {"": 5}, SCOPE),
        (v.METRIC_GPU_UTILIZATION, 7_000, {"": 0.5}, SCOPE),
    ]
    assert all(item.derived and item.sequence == 0 for item in items)
    assert host_items([], 7_000, readings) == []


def test_the_sampler_keeps_the_latest(tmp_path: Path) -> None:
    """It samples from `start` on, forgets what nobody fetches, and ends when told."""
    sampler = Sampler(tmp_path, 0.01)
    assert sampler.take() == []
    sampler.start()
    until(lambda: len(sampler._samples) == 6)
    taken = sampler.take()
    assert [moment for moment, _ in taken] == sorted(moment for moment, _ in taken)
    sampler.stop()
    assert sampler._thread is not None
    sampler._thread.join(10)
    assert not sampler._thread.is_alive()


@pytest.mark.reliability
def test_a_shipper_tells_of_its_host(tmp_path: Path) -> None:
    """While a run is live here: once an interval, GPUs too; the records it ships are as many as ever, and its end is not delayed."""
    journal = open_log(tmp_path)
    write(journal, span_end())
    with http_peer() as peer:
        env = {**environment(peer.url), "ROLLSCOPE_HOST_INTERVAL": "0.2", "PYTHONPATH": os.pathsep.join([str(NVIDIA), *sys.path])}
        shipper = subprocess.Popen([sys.executable, "-m", "rollscope.shipper", str(tmp_path), "--grace", "0.5"], env=env)
        try:
            until(lambda: len(host_metrics(peer)) >= 3)
            journal.close()
            assert shipper.wait(60) == 0
        finally:
            shipper.send_signal(signal.SIGKILL)
            shipper.wait()
    first = host_metrics(peer)[0]
    assert values(first.resource.attributes)[v.RUN_ID] == "run-1"
    names = {metric.name for scope in first.scope_metrics for metric in scope.metrics}
    assert {v.METRIC_CPU_UTILIZATION, v.METRIC_NETWORK_IO, v.METRIC_GPU_UTILIZATION} <= names | {v.METRIC_NETWORK_IO}
    assert peer.sequences("a" * 16) == [1]
    assert values(peer.logs(v.EVENT_HEARTBEAT)[-1].attributes)[v.LAST_SEQUENCE] == 1


@pytest.mark.reliability
def test_without_psutil_one_line_says_so(tmp_path: Path) -> None:
    """And everything else goes on."""
    (tmp_path / "without").mkdir()
    (tmp_path / "without" / "psutil.py").write_text("raise ImportError('no psutil')\n")
    node = tmp_path / "node"
    journal = open_log(node)
    write(journal, span_end())
    with http_peer() as peer:
        path = os.pathsep.join([str(tmp_path / "without"), *sys.path])
        env = {**environment(peer.url), "ROLLSCOPE_HOST_INTERVAL": "0.05", "PYTHONPATH": path}
        shipper = subprocess.Popen([sys.executable, "-m", "rollscope.shipper", str(node), "--grace", "0.5"], env=env)
        until(lambda: "host metrics are off" in (node / "shipper.log").read_text() if (node / "shipper.log").exists() else False)
        journal.close()
        assert shipper.wait(30) == 0
    assert (node / "shipper.log").read_text().count("host metrics are off: psutil is not installed (pip install 'rollscope[system]')") == 1
    assert (host_metrics(peer), peer.sequences("a" * 16)) == ([], [1])
