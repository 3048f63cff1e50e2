"""Runs: announced once and first, ended last, restarted, aborted; sessions of programs without rollscope."""

from __future__ import annotations

from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import RunFinished, RunStarted, StepMetrics, Trace

from ..bridge import SECOND, Bridge
from ..foreign import gauge_request, span_request
from ..wire import Process, process, requests


def started(worker: Process, **attributes: object) -> None:
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, attributes, priority=0)


def finished(worker: Process, status: str = "finished") -> None:
    worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {v.RUN_STATUS: status}, priority=0)


def test_a_start_carries_what_the_driver_said(bridge: Bridge) -> None:
    """Config, tags, backends and circumstances come out of the event, names out of the resource."""
    with process() as driver:
        started(
            driver,
            **{
                v.RUN_CONFIG: '{"trainer": {"lr": 1e-6}}',
                v.RUN_TAGS: ["baseline"],
                v.RUN_BACKENDS: ["mlflow"],
                v.RUN_CIRCUMSTANCES: '{"git": "abc"}',
            },
        )
        bridge.take(requests(driver.items()))
    (record,) = bridge.of(RunStarted)
    assert (record.name, record.project, record.attempt) == ("experiment", "project", 0)
    assert (record.config, record.tags, record.backends) == ({"trainer": {"lr": 1e-6}}, ["baseline"], ["mlflow"])
    assert record.circumstances == {"git": "abc"}
    (run,) = bridge.store.runs()
    assert (run.run, run.name, run.status, run.backends) == ("run-1", "experiment", "running", ["mlflow"])


def test_records_wait_a_moment_for_the_start(bridge: Bridge) -> None:
    """Metrics that come first are held; without a start they go out under a run named by the resource."""
    with process() as worker:
        rs.log({"loss": 1.0}, step=1)
        bridge.take(requests(worker.items()))
        assert bridge.records() == []
        assert bridge.store.runs() == []
        bridge.restart()
        bridge.wait(6)
    assert [type(record) for record in bridge.records()] == [RunStarted, StepMetrics]
    assert bridge.of(RunStarted)[0].name == "experiment"


def test_a_late_start_is_told_as_well(bridge: Bridge) -> None:
    """The driver's word after a guessed start goes out too: it has the configuration."""
    with process() as worker:
        rs.log({"loss": 1.0}, step=1)
        bridge.take(requests(worker.items()))
        bridge.wait(6)
        started(worker, **{v.RUN_CONFIG: '{"a": 1}'})
        bridge.take(requests(worker.items()))
    assert [record.config for record in bridge.of(RunStarted)] == [{}, {"a": 1}]


def test_the_end_waits_for_what_was_recorded_before(bridge: Bridge) -> None:
    """The end goes out after the last record of every process, and then at once."""
    with process() as driver, process("00000000000000bb") as worker:
        started(driver)
        rs.log({"loss": 1.0}, step=1)
        finished(driver)
        bridge.take(requests([*driver.items(), driver.heartbeat(final=True), worker.heartbeat()]))
        assert not bridge.of(RunFinished)
        assert bridge.ledger().runs[0].status == "ending"
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    assert [type(record) for record in bridge.records()][-2:] == [StepMetrics, RunFinished]
    assert bridge.store.runs()[0].status == "finished"


def test_the_end_does_not_wait_for_ever(bridge: Bridge) -> None:
    """A process that never says it is done holds the end up for a while only; what it says later still arrives."""
    with process() as driver, process("00000000000000bb") as worker:
        started(driver)
        rs.log({"loss": 1.0}, step=1)
        finished(driver)
        bridge.take(requests([*driver.items(), worker.heartbeat()]))
        bridge.wait(31)
        assert bridge.of(RunFinished)
        bridge.take(requests(worker.items()))
    assert isinstance(bridge.records()[-1], StepMetrics)


def test_the_end_takes_open_traces_along(bridge: Bridge) -> None:
    """When all processes are done, a trace that waited for more goes out before the end."""
    with process() as driver:
        started(driver)
        with rs.step(1), rs.phase("rollout"):
            pass
        finished(driver)
        bridge.take(requests([*driver.items(), driver.heartbeat(final=True)]))
    assert [type(record) for record in bridge.records() if not isinstance(record, StepMetrics)] == [RunStarted, Trace, RunFinished]


def test_a_dead_driver_aborts_the_run(bridge: Bridge) -> None:
    """A driver that ended without a word leaves an aborted run; a dead worker does not."""
    with process() as driver, process("00000000000000bb") as worker:
        started(driver)
        bridge.take(requests([*driver.items(), worker.heartbeat(final=True, abnormal=True)]))
        bridge.wait(60)
        assert bridge.store.runs()[0].status == "running"
        bridge.take(requests([driver.heartbeat(final=True, abnormal=True)]))
    assert [record.status for record in bridge.of(RunFinished)] == ["aborted"]


def test_a_dead_driver_whose_last_words_overtook_its_first_aborts_the_run(bridge: Bridge) -> None:
    """On the way through Collectors its heartbeat may come before the start of its run, and none comes after it."""
    with process() as driver, process("00000000000000bb") as worker:
        started(driver)
        worker.memory.recorder.event(v.EVENT_STEP_METRICS, {v.METRICS: {"loss": 1.0}, v.STEP_INDEX: 1}, priority=0)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True), driver.heartbeat(final=True, abnormal=True)]))
        bridge.take(requests(driver.items()), 1)
        bridge.wait(60)
    assert [record.status for record in bridge.of(RunFinished)] == ["aborted"]
    assert bridge.store.runs()[0].status == "aborted"


def test_a_restart_opens_the_run_again(bridge: Bridge) -> None:
    """The next attempt's start comes after the end of the one before, and the run is running again."""
    with process() as driver:
        started(driver)
        bridge.take(requests([*driver.items(), driver.heartbeat(final=True, abnormal=True)]))
    with process("00000000000000bb", attempt=1) as driver:
        started(driver)
        bridge.take(requests(driver.items()))
    assert [type(record) for record in bridge.records()] == [RunStarted, RunFinished, RunStarted]
    assert bridge.of(RunStarted)[1].attempt == 1
    assert (bridge.store.runs()[0].status, bridge.store.runs()[0].attempt) == ("running", 1)


@pytest.mark.parametrize("pause", [0, 60])
def test_an_end_that_overtook_its_start_stays(bridge: Bridge, pause: int) -> None:
    """Of a short run a Collector's queues may bring the last word first; whether it has gone out by then or not, it is the last."""
    with process() as driver:
        started(driver, **{v.RUN_CONFIG: '{"a": 1}'})
        begin = driver.items()
        finished(driver)
        bridge.take(requests([*driver.items(), driver.heartbeat(final=True)]))
        if pause:
            bridge.wait(pause)
        bridge.take(requests(begin))
        bridge.wait(60)
    (run,) = bridge.store.runs()
    assert run.status == "finished"
    assert bridge.of(RunStarted)[-1].config == {"a": 1}
    assert isinstance(bridge.records()[-1], RunFinished)


def test_a_stale_start_is_set_aside(bridge: Bridge) -> None:
    """The start of an attempt that is over does not take the run back; it is counted by name."""
    with process(attempt=1) as driver:
        started(driver)
        bridge.take(requests(driver.items()))
    with process("00000000000000bb") as old:
        started(old)
        bridge.take(requests([*old.items(), old.heartbeat(final=True)]))
    assert bridge.store.runs()[0].attempt == 1
    line = next(line for line in bridge.ledger().runs[0].producers if line.producer == old.producer)
    assert line.set_aside == {"start of an attempt older than the present one": 1}
    assert line.waiting == 0


def test_a_program_without_rollscope_gets_a_run(bridge: Bridge) -> None:
    """Its service is project and name; its processes share the run, other services have their own."""
    bridge.take([gauge_request("trainer", {"loss": 1.0}, time=1), gauge_request("judge", {"score": 0.5}, time=1)])
    bridge.take([gauge_request("trainer", {"loss": 0.5}, time=2, instance="second process")])
    starts = {record.run: record for record in bridge.of(RunStarted)}
    assert sorted((record.name, record.project) for record in starts.values()) == [("judge", "judge"), ("trainer", "trainer")]
    assert [(starts[m.run].name, m.values) for m in bridge.of(StepMetrics) if starts[m.run].name == "trainer"] == [
        ("trainer", {"loss": 1.0}),
        ("trainer", {"loss": 0.5}),
    ]


def test_silence_ends_a_session(bridge: Bridge) -> None:
    """After a long silence the service's run has finished, and its next record begins another one."""
    bridge.take([gauge_request("trainer", {"loss": 1.0}, time=1)])
    bridge.wait(6)
    bridge.wait(1000)
    bridge.wait(31)
    assert [record.status for record in bridge.of(RunFinished)] == ["finished"]
    bridge.take([gauge_request("trainer", {"loss": 2.0}, time=2)])
    bridge.wait(6)
    assert len({record.run for record in bridge.of(RunStarted)}) == 2


def test_a_session_survives_a_restart(bridge: Bridge) -> None:
    """The bridge's own restart does not split a session."""
    bridge.take([gauge_request("trainer", {"loss": 1.0}, time=1)])
    bridge.wait(6)
    bridge.restart()
    bridge.take([span_request("trainer", [("work", None)])])
    bridge.wait(6)
    assert len({record.run for record in bridge.records()}) == 1


def test_much_held_is_not_held_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run whose records wait for its start is announced early when they are many."""
    monkeypatch.setattr("rollscope_exporters.pipeline.outbox.HELD_BYTES", 1000)
    bridge = Bridge(tmp_path, PipelineSettings(hold=3600 * SECOND))
    with process() as worker:
        for n in range(20):
            rs.log({"loss": 1.0, "text": "x" * 100}, step=n)
        bridge.take(requests(worker.items()))
    assert len(bridge.of(StepMetrics)) == 20
