"""Hops that die, destinations that are away, nodes that are late: nothing is lost and nothing comes twice."""

from __future__ import annotations

import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rollscope import vocabulary as v
from rollscope.settings import resolve_endpoints
from rollscope.shipper.shipper import Shipper
from rollscope.vocabulary.prometheus import label_name, metric_name
from tests.collector.stack import Stack
from tests.collector.test_end_to_end import lines, trajectories
from tests.fixtures.collector import running_stack
from tests.shipper.producers import open_log, step_metrics, write

pytestmark = pytest.mark.integration
SCALAR = metric_name(v.METRIC_STEP_SCALAR)


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, mlflow_store: Path) -> Iterator[Stack]:
    """A stack of this module's own."""
    with running_stack(tmp_path_factory.mktemp("kills"), mlflow_store) as running:
        yield running


def values(stack: Stack, name: str, minutes: int = 120) -> dict[int, float]:
    """Every sample of a step's scalar: time in ms → value."""
    found = stack.samples(f'{SCALAR}{{{label_name(v.METRIC_NAME)}="{name}"}}', minutes)
    return {round(float(time) * 1000): float(value) for series in found for time, value in series["values"]}


def ship(stack: Stack, folder: Path) -> None:
    """Send a node folder to the agent by the real shipper."""
    endpoints = resolve_endpoints({"ROLLSCOPE_ENDPOINT": stack.url("agent")})
    assert endpoints is not None
    assert Shipper(folder, endpoints).drain(120.0)


def test_a_step_that_comes_ten_minutes_late_is_kept(stack: Stack, tmp_path: Path) -> None:
    """Later steps of the same series are there already; the late ones still get their own place, and nothing beside them is lost."""
    now = time.time_ns() // 1_000_000 * 1_000_000
    times = {step: now - (10 - step) * 60_000_000_000 for step in range(11)}
    journal = open_log(tmp_path)
    write(journal, *(step_metrics(step, {"late": float(step), "also": -float(step)}, times[step]) for step in (8, 9, 10)))
    ship(stack, tmp_path)
    stack.until(lambda: len(values(stack, "late")) == 3, "the newest steps are not there")
    write(journal, *(step_metrics(step, {"late": float(step), "also": -float(step)}, times[step]) for step in range(8)))
    ship(stack, tmp_path)
    journal.close()
    wanted = {times[step] // 1_000_000: float(step) for step in range(11)}
    stack.until(lambda: len(values(stack, "late")) == 11, "the late steps are not there")
    assert values(stack, "late") == wanted
    assert values(stack, "also") == {time: -value for time, value in wanted.items()}


def test_prometheus_may_be_away_and_the_gateway_may_die_meanwhile(stack: Stack, tmp_path: Path) -> None:
    """What waits for Prometheus lies on the gateway's disk: killed and started again it delivers all of it."""
    stack.kill("prometheus")
    now = time.time_ns() // 1_000_000 * 1_000_000
    journal = open_log(tmp_path)
    write(journal, *(step_metrics(step, {"away": float(step)}, now + step * 1_000_000) for step in range(50)))
    ship(stack, tmp_path)
    journal.close()
    stack.until(lambda: queued(stack) > 0, "nothing waits for Prometheus")
    stack.kill("gateway")
    stack.start("prometheus", "gateway")
    stack.until(lambda: len(values(stack, "away")) == 50, "values are missing")
    assert values(stack, "away") == {now // 1_000_000 + step: float(step) for step in range(50)}


def queued(stack: Stack) -> float:
    """Bytes that the gateway holds for Prometheus, by its own page."""
    page = urllib.request.urlopen(stack.url("gateway_metrics", "/metrics"), timeout=10).read().decode()
    found = [line for line in page.splitlines() if line.startswith("otelcol_exporter_queue_size") and '"otlp_grpc/prometheus"' in line]
    return sum(float(line.rpartition(" ")[2]) for line in found)


def test_agent_and_gateway_killed_in_the_middle_of_a_run(stack: Stack) -> None:
    """Killed without a word and started again, twice each, under load: each record has reached each backend exactly once."""
    steps = 4
    command = [sys.executable, "-m", "examples.tool_rl.train", "--latency", "0.02", "--steps", str(steps), "--storage", str(stack.storage)]
    with (stack.folder / "demo.log").open("wb") as log:
        demo = subprocess.Popen(command, env=stack.recording, stdout=log, stderr=log, cwd=Path(__file__).parents[2])
        try:
            for name in ("gateway", "agent") * 2:
                before = received(stack)
                stack.until(lambda before=before: received(stack) > before or demo.poll() is not None, "nothing arrives")  # type: ignore[misc]
                assert demo.poll() is None, "the run was over before the last kill"
                stack.kill(name)
                stack.start(name)
            assert demo.wait(600) == 0, (stack.folder / "demo.log").read_text(errors="replace")[-3000:]
        finally:
            demo.kill()
            demo.wait()
    run = next(run for run in stack.ledger()["runs"] if run["name"].startswith("grpo"))
    stack.demo_run = run["run"]
    assert (run["verdict"], run["missing"], run["dropped"]) == ("complete", 0, 0)
    assert all(backend["delivered"] == run["produced"] for backend in run["backends"])
    logged = [line["values"]["training/global_step"] for line in lines(stack, "metrics") if "training/global_step" in line["values"]]
    assert logged == list(range(1, steps + 1))
    ids = Counter(line["id"] for line in trajectories(stack) if line["run"] == run["run"])
    assert set(ids.values()) == {1}
    assert len(ids) == steps * 64 + 16
    stack.until(lambda: len(values(stack, "training/global_step")) == steps, "Prometheus lacks a step")
    assert sorted(values(stack, "training/global_step").values()) == list(range(1, steps + 1))


def received(stack: Stack) -> int:
    """Records that the bridge has of the demo."""
    return sum(run["received"] for run in stack.ledger()["runs"] if run["name"].startswith("grpo"))


def test_nothing_is_left_running(stack: Stack) -> None:
    """Ending a stack, which no test after this one needs, ends every process it started."""
    started = [psutil.Process(program.process.pid) for program in stack.programs.values() if program.process]
    assert len(started) == 5
    below = [process for each in started for process in each.children(recursive=True)]
    assert below, "the bridge has no workers"
    stack.end()
    _, alive = psutil.wait_procs([*started, *below], 30)
    assert not alive
