"""The ledger: every number right at every moment, and a verdict in words."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import msgspec
import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope.launchers import Place
from rollscope_exporters import records
from rollscope_exporters.beats import BEAT_FILE, Beat
from rollscope_exporters.ledger import RunLedger, read_ledger
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.pipeline.trim import trim
from rollscope_exporters.positions import read_workers
from rollscope_exporters.store import NoStoreError

from ..bridge import SECOND, Bridge
from ..wire import Process, process, requests
from ..workload import workload


def one(bridge: Bridge) -> RunLedger:
    """The ledger of the run."""
    (found,) = bridge.ledger("run-1").runs
    return found


def run_through(worker: Process, steps: int = 3) -> None:
    """A whole run of one process."""
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
    for step in range(steps):
        worker.memory.recorder.event(v.EVENT_STEP_METRICS, {v.METRICS: {"loss": 1.0}, v.STEP_INDEX: step}, priority=0)
    worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)


def test_complete(bridge: Bridge) -> None:
    """Everything produced was received and delivered, and the run has ended."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver()
    found = one(bridge)
    assert (found.verdict, found.reasons, found.status) == ("complete", [], "finished")
    assert (found.produced, found.received, found.missing, found.waiting) == (5, 5, 0, 0)
    assert found.producers[0].delivered == {"jsonl": 5}
    assert bridge.ledger().complete


def test_delivering(bridge: Bridge) -> None:
    """While a backend has rows before it, the verdict says so and how many."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver(upto=2)
    found = one(bridge)
    assert (found.verdict, found.reasons) == ("delivering", ["jsonl has 3 records still to take"])
    assert found.backends[0].delivered == 2


def test_what_holds_a_backend_up(bridge: Bridge) -> None:
    """The ledger repeats what a worker says it waits for, as long as that is news."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver(upto=2)
    beat = Beat(pid=1, time=bridge.now / SECOND, state="waiting", reason="connection refused", failures=3, position=2)
    (bridge.storage / "backends" / "jsonl" / BEAT_FILE).write_bytes(msgspec.json.encode(beat))
    assert one(bridge).reasons == ["jsonl has 3 records still to take and waits: connection refused"]
    assert one(bridge).backends[0].waits == "connection refused"
    bridge.now += 300 * SECOND
    assert one(bridge).backends[0].waits == ""


def test_a_backend_that_never_started(tmp_path: Path) -> None:
    """A wanted backend without a worker is named."""
    bridge = Bridge(tmp_path, backends=["jsonl", "wandb"])
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver()
    assert one(bridge).verdict == "delivering"
    assert one(bridge).reasons == ["wandb has never been started (is it installed and configured? see bridge.log)"]


def test_a_backend_that_is_still_not_started_is_given_up(tmp_path: Path) -> None:
    """Two minutes after the end; what is started then completes the run."""
    bridge = Bridge(tmp_path, backends=["jsonl", "wandb"])
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver()
    bridge.wait(121)
    assert one(bridge).verdict == "incomplete: wandb has never been started (is it installed and configured? see bridge.log)"
    bridge.deliver("wandb")
    assert one(bridge).verdict == "complete"


def test_a_backend_that_does_not_exist(tmp_path: Path) -> None:
    """The run is incomplete at once, with the nearest name there is; the others have what they have."""
    bridge = Bridge(tmp_path, backends=["jsonl", "mlfow"])
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver()
    found = one(bridge)
    assert found.verdict.startswith(
        "incomplete: the run asked for 'mlfow': no installed package offers such a backend. Did you mean 'mlflow'?"
    )
    assert found.reasons == [found.verdict.removeprefix("incomplete: ")]
    assert found.backends[0].delivered == 5


def test_a_running_run_is_delivering(bridge: Bridge) -> None:
    """A run that has not ended is never complete."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        bridge.take(requests([*worker.items(), worker.heartbeat()]))
    bridge.deliver()
    assert (one(bridge).verdict, one(bridge).reasons) == ("delivering", ["the run has not ended"])


def test_missing_records_are_named(bridge: Bridge) -> None:
    """What a process wrote and nobody brought is missing, by number; for two minutes it may still be on its way, behind last words."""
    with process() as worker:
        run_through(worker, 6)
        items = worker.items()
        bridge.take(requests([*items[:2], *items[4:], worker.heartbeat(final=True)]))
    bridge.wait(31)
    bridge.deliver()
    assert one(bridge).verdict == "delivering"
    assert "2 records of 1 process have not reached the bridge yet" in one(bridge).reasons
    bridge.wait(90)
    assert one(bridge).verdict == "incomplete: 2 records of pid 1 on host never arrived (numbers 3-4)"
    assert one(bridge).missing == 2


def test_records_lost_at_the_end_are_missed_too(bridge: Bridge) -> None:
    """The heartbeat says how many there were."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items()[:-1], worker.heartbeat()]))
    found = one(bridge)
    assert (found.missing, found.verdict) == (1, "delivering")
    assert "1 record of 1 process have not reached the bridge yet" in found.reasons


def test_dropped_records_are_named_by_reason(bridge: Bridge) -> None:
    """What a process refused to write was never numbered, is not missing, and makes the run incomplete."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True, full=12, disk=1)]))
    bridge.deliver()
    found = one(bridge)
    assert (found.missing, found.dropped) == (0, 13)
    assert found.verdict == "incomplete: pid 1 on host dropped 13 records (full: 12, disk: 1)"


def test_a_process_that_fell_silent(bridge: Bridge) -> None:
    """After the run's end, a process that was not heard of for minutes is given up, with what can be done."""
    with process() as driver, process("00000000000000bb", place=Place(role="rollout", rank=3)) as worker:
        run_through(driver)
        bridge.take(requests([*driver.items(), driver.heartbeat(final=True), worker.heartbeat()]))
    bridge.wait(40)
    bridge.deliver()
    assert one(bridge).reasons == ["rollout rank 3 (pid 1 on host) has not said that it is done"]
    bridge.wait(200)
    verdict = one(bridge).verdict
    assert verdict.startswith("incomplete: rollout rank 3 (pid 1 on host) never said it was done and has been silent for 4 min")
    assert "rollscope ship DIR" in verdict


def test_ranks_never_heard_of(bridge: Bridge) -> None:
    """A run whose processes know how many they are misses those that never said anything."""
    with process(place=Place(role="trainer", rank=0, world_size=4)) as first:
        run_through(first)
        sent = [*first.items(), first.heartbeat(final=True)]
    with process("00000000000000bb", place=Place(role="trainer", rank=2, world_size=4)) as other:
        bridge.take(requests([*sent, other.heartbeat(final=True)]))
    bridge.deliver()
    found = one(bridge)
    assert found.unheard == ["trainer rank 1 of 4", "trainer rank 3 of 4"]
    assert found.verdict == "incomplete: trainer rank 1 of 4 was never heard of; trainer rank 3 of 4 was never heard of"


def test_waiting_records(bridge: Bridge) -> None:
    """Records of a trajectory that is not whole are received and waiting, not lost."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        with rs.trajectory(group="g", index=0) as traj:
            with traj.turn():
                pass
            items = worker.items()
        worker.items()
        bridge.take(requests(items))
    bridge.deliver()
    assert one(bridge).waiting == 1
    assert "1 record wait for the rest of their trajectory" in one(bridge).reasons


def test_set_aside_records_are_named_and_do_not_count_as_delivered(bridge: Bridge) -> None:
    """A run is complete with a record set aside, and the ledger names it, also after its row was deleted."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    refused = bridge.rows()[2]
    entry = {"id": refused.id, "run": "run-1", "what": "metrics step 1", "reason": "text is no number"}
    bridge.deliver(set_aside=[entry])
    for _ in range(2):
        found = one(bridge)
        assert found.verdict == "complete"
        assert found.notes == ["jsonl could not take metrics step 1: text is no number"]
        assert (found.backends[0].delivered, found.backends[0].set_aside[0].records) == (4, 1)
        assert found.producers[0].delivered == {"jsonl": 4}
        fill(bridge)
        assert bridge.store.value("trimmed") > refused.id


def test_signals_not_routed(bridge: Bridge) -> None:
    """What a backend is not to get is counted apart and not waited for."""
    with process() as worker:
        run_through(worker)
        rs.table("t", rows=[{"a": 1}])
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver(signals=["runs", "metrics"])
    found = one(bridge).backends[0]
    assert (found.delivered, found.pending, found.not_routed) == (5, 0, {"tables": 1})


def test_rows_left_out_by_configuration(bridge: Bridge) -> None:
    """What sampling left out is a note of its run, and does not keep it from being complete."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests([*worker.items(), worker.heartbeat(final=True)]))
    bridge.deliver(left_out={"metrics.every_n_steps": {"run-1": 2, "run-2": 7}})
    found = one(bridge)
    assert (found.verdict, found.backends[0].left_out) == ("complete", {"metrics.every_n_steps": 2})
    assert found.notes == ["2 records were left out of jsonl (metrics.every_n_steps: 2)"]


def test_the_ledger_of_one_run(bridge: Bridge) -> None:
    """By id or by name; an unknown one is an error that names those there are."""
    with process() as worker:
        run_through(worker)
        bridge.take(requests(worker.items()))
    assert bridge.ledger("run-1").runs[0].run == bridge.ledger("experiment").runs[0].run == "run-1"
    with pytest.raises(LookupError, match=r"no run 'other' here; known: run-1 \(experiment\)"):
        bridge.ledger("other")


def test_before_there_is_a_store(tmp_path: Path) -> None:
    """Without a store the error says so."""
    with pytest.raises(NoStoreError, match="no store here"):
        read_ledger(tmp_path)


def test_it_is_json(bridge: Bridge) -> None:
    """The whole ledger encodes, and the shape is what the documentation says."""
    bridge.take(workload(1))
    bridge.deliver(upto=3)
    found = msgspec.json.decode(msgspec.json.encode(bridge.ledger()))
    assert set(found) == {"runs", "rejected", "rejected_latest"}
    assert {"run", "name", "verdict", "reasons", "producers", "backends", "unheard"} <= set(found["runs"][0])


def fill(bridge: Bridge, rows: int = 3000) -> None:
    """Let a day pass in which another run fills the outbox, and delete what was delivered."""
    with process("00000000000000ff", run="run-2") as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        for step in range(rows):
            worker.memory.recorder.event(v.EVENT_STEP_METRICS, {v.METRICS: {"a": 1}, v.STEP_INDEX: step}, priority=0)
        bridge.take(requests(worker.items()))
    position = {**msgspec.json.decode((bridge.storage / "backends/jsonl/position.json").read_bytes()), "position": bridge.store.head()}
    (bridge.storage / "backends/jsonl/position.json").write_bytes(msgspec.json.encode(position))
    with bridge.store.transaction() as db:
        db.execute("UPDATE outbox SET time = 0")
    while trim(bridge.store, read_workers(bridge.storage), lambda _: bridge.backends, bridge.now, bridge.settings.keep):
        pass


@pytest.mark.parametrize("seed", range(4))
def test_the_numbers_are_those_of_a_model(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """At any moment, with kills, deletions, a late backend and records set aside: produced, received, delivered, waiting are exact."""
    for module in ("ledger.totals", "pipeline.outbox"):
        monkeypatch.setattr(f"rollscope_exporters.{module}.BLOCK", 16)
    rng = random.Random(seed)
    bridge = Bridge(tmp_path, PipelineSettings(keep=0), backends=["jsonl", "mlflow"])
    positions = {"jsonl": 0, "mlflow": 0}
    all_rows: dict[int, records.Record] = {}
    sources: dict[int, dict[str, int]] = {}
    refused: dict[str, list[dict[str, object]]] = {"jsonl": [], "mlflow": []}
    sent = workload(seed, trajectories=60)
    while sent:
        count = rng.randint(1, 30)
        bridge.take(sent[:count], seconds=rng.random())
        sent = sent[count:]
        if rng.random() < 0.3:
            bridge.restart()
        for row in bridge.store.rows(max(sources, default=0), signals=records.SIGNALS, limit=10_000):
            sources[row.id], all_rows[row.id] = row.sources, records.decode(row.payload)
        for backend in positions:
            before, positions[backend] = positions[backend], rng.randint(positions[backend], bridge.store.head())
            for id in range(before + 1, positions[backend] + 1):
                if rng.random() < 0.05:
                    refused[backend].append({"id": id, "run": all_rows[id].run, "what": "x", "reason": "y"})
            bridge.deliver(backend, positions[backend], set_aside=refused[backend])
        trim_blocks(bridge)
        check(bridge, positions, sources, all_rows, refused)
    assert bridge.store.value("trimmed") > 0


def trim_blocks(bridge: Bridge) -> None:
    """Delete what was delivered, at once."""
    bridge.now += SECOND
    while trim(bridge.store, read_workers(bridge.storage), lambda _: bridge.backends, bridge.now, bridge.settings.keep):
        pass


def check(
    bridge: Bridge,
    positions: dict[str, int],
    sources: dict[int, dict[str, int]],
    rows: dict[int, records.Record],
    refused: dict[str, list[dict[str, object]]],
) -> None:
    """Compare the ledger with what the rows say."""
    for run in bridge.ledger().runs:
        for producer in run.producers:
            out = sum(n.get(producer.producer, 0) for n in sources.values())
            assert producer.received == out + producer.waiting + sum(producer.set_aside.values())
            for backend, position in positions.items():
                aside = {entry["id"] for entry in refused[backend]}
                expected = sum(n.get(producer.producer, 0) for id, n in sources.items() if id <= position and id not in aside)
                assert producer.delivered[backend] == expected, (backend, position)
        for line in run.backends:
            of_run: Counter[bool] = Counter()
            for id, n in sources.items():
                if rows[id].run == run.run:
                    of_run[id <= line.position] += sum(n.values())
            aside_records = sum(entry.records for entry in line.set_aside)
            assert (line.delivered + aside_records, line.pending) == (of_run[True], of_run[False])
