"""Events of the vocabulary: tables, artifacts, log lines, and what is set aside."""

from __future__ import annotations

import hashlib
import random
import socket
from pathlib import Path

import pytest

import rollscope as rs
from rollscope import vocabulary as v
from rollscope_exporters.pipeline import PipelineSettings
from rollscope_exporters.records import Artifact, LogLine, StepMetrics, Table, Trajectory

from ..bridge import Bridge
from ..wire import Process, process, requests, singly


def send(bridge: Bridge, worker: Process) -> None:
    """Announce the run and send what was recorded."""
    worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
    bridge.take(requests(worker.items()))
    bridge.wait(6)


def test_metrics_keep_nan_and_types(bridge: Bridge) -> None:
    """Scalars come out as they went in, NaN, infinity, bools and text included, with step and split."""
    with process() as worker:
        rs.log({"loss": float("nan"), "top": float("inf"), "ok": True, "mode": "fast", "n": 3}, step=12, split="validation")
        send(bridge, worker)
    (found,) = bridge.of(StepMetrics)
    assert (found.step, found.split, found.producer) == (12, "validation", worker.producer)
    assert found.values.pop("loss") != found.values.get("loss")
    assert found.values == {"top": float("inf"), "ok": True, "mode": "fast", "n": 3}


def test_tables_keep_their_rows(bridge: Bridge) -> None:
    """Rows of a table arrive with name and step."""
    with process() as worker:
        rs.table("val/generations", rows=[{"prompt": "1 + 1", "answer": "2 ✓", "note": None}], step=5)
        send(bridge, worker)
    (found,) = bridge.of(Table)
    assert (found.name, found.step) == ("val/generations", 5)
    assert found.rows == [{"prompt": "1 + 1", "answer": "2 ✓", "note": None}]


@pytest.mark.parametrize("seed", range(4))
def test_pieces_of_an_artifact_are_joined(bridge: Bridge, seed: int) -> None:
    """In any order, each sent twice, over a restart: the content is whole and counted once."""
    content = random.Random(seed).randbytes(700_000)
    with process() as worker:
        send(bridge, worker)
        rs.artifact(content, name="model.bin", type="model", aliases=["best"])
        pieces = singly(worker.items()) * 2
    random.Random(seed).shuffle(pieces)
    for n, piece in enumerate(pieces):
        bridge.take([piece])
        if n == 2:
            bridge.restart()
    (found,) = bridge.of(Artifact)
    assert (found.name, found.type, found.aliases, found.size) == ("model.bin", "model", ["best"], len(content))
    assert found.content == content
    assert found.digest == "sha256:" + hashlib.sha256(content).hexdigest()
    assert bridge.sources()[worker.producer] == worker.memory.journal.last_sequence
    assert bridge.store.db.execute("SELECT count(*) FROM chunks").fetchone() == (0,)


def test_an_unfinished_artifact_goes_out_with_the_end(bridge: Bridge) -> None:
    """When a piece is lost, the end of the run sends what is known of the file, and says so."""
    with process() as worker:
        send(bridge, worker)
        rs.artifact(b"x" * 500_000, name="model.bin")
        pieces = worker.items()
        worker.memory.recorder.event(v.EVENT_RUN_FINISHED, {}, priority=0)
        bridge.take(requests([*pieces[1:], *worker.items(), worker.heartbeat(final=True)]))
        bridge.wait(31)
    (found,) = bridge.of(Artifact)
    assert found.content is None
    assert found.uri == f"content not kept: {len(pieces) - 1} of {len(pieces)} pieces came"


def test_a_large_artifact_is_not_kept(tmp_path: Path) -> None:
    """Content over the limit is not kept; the record says how large it was."""
    bridge = Bridge(tmp_path, PipelineSettings(artifact_bytes=1000))
    with process() as worker:
        rs.artifact(b"x" * 400_000, name="model.bin")
        send(bridge, worker)
    (found,) = bridge.of(Artifact)
    assert found.content is None
    assert "400000 bytes are over the bridge's limit of 1000" in found.uri


@pytest.mark.parametrize(("allowed", "same_host"), [(True, True), (False, True), (True, False)])
def test_a_file_that_is_only_named_is_read_where_that_is_allowed(tmp_path: Path, allowed: bool, same_host: bool) -> None:
    """By reference: read with leave on the same host, else passed on by its URI."""
    bridge = Bridge(tmp_path / "s", PipelineSettings(read_artifacts=allowed))
    file = tmp_path / "weights"
    file.write_bytes(b"weights")
    host = socket.gethostname() if same_host else "elsewhere"
    with process() as worker:
        worker = Process(worker.memory, worker.producer, **{v.HOST_NAME: host})
        worker.memory.recorder.event(v.EVENT_ARTIFACT, {v.ARTIFACT_NAME: "weights", v.ARTIFACT_URI: file.as_uri()})
        send(bridge, worker)
    (found,) = bridge.of(Artifact)
    assert found.uri == file.as_uri()
    assert found.content == (b"weights" if allowed and same_host else None)


def test_notes_and_log_lines(bridge: Bridge) -> None:
    """An event of the user's own is known by its name, a log line by its text."""
    with process() as worker:
        rs.event("weights synced", shards=7)
        worker.memory.recorder.event(v.EVENT_LOG, {"logger": "trainer"}, body="loaded", severity=13)
        send(bridge, worker)
    note, line = bridge.of(LogLine)
    assert (note.name, note.body, note.attributes) == ("weights synced", "", {"shards": 7})
    assert (line.name, line.body, line.severity, line.attributes) == ("", "loaded", 13, {"logger": "trainer"})


def test_events_inside_a_trajectory_count_for_it(bridge: Bridge) -> None:
    """Notes and log lines under a trajectory are among the records its root counted: it waits for them, and for nothing else."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        with rs.trajectory(group="g", index=0) as traj:
            rs.event("looked around")
            with traj.turn():
                rs.event("thought")
        items = worker.items()
        note = next(item for item in items if item.what == v.EVENT_NOTE)
        bridge.take(requests([item for item in items if item is not note]))
        assert not bridge.of(Trajectory)
        bridge.take(requests([note]))
    assert [trajectory.incomplete for trajectory in bridge.of(Trajectory)] == [""]
    assert [line.name for line in bridge.of(LogLine)] == ["thought", "looked around"]


def test_a_process_heard_of_again_after_hours(bridge: Bridge) -> None:
    """What is remembered of a silent process leaves memory, not the store: its records still count once."""
    with process() as worker:
        worker.memory.recorder.event(v.EVENT_RUN_STARTED, {}, priority=0)
        first = requests(worker.items())
        bridge.take(first)
        bridge.wait(2 * 3600)
        bridge.pipeline.forget(bridge.now)
        rs.log({"loss": 1.0}, step=1)
        bridge.take([*first, *requests(worker.items())])
    bridge.restart()
    (line,) = bridge.ledger().runs[0].producers
    assert (line.produced, line.received, line.duplicate, line.missing) == (2, 2, 1, 0)


@pytest.mark.parametrize(
    ("name", "attributes", "reason"),
    [
        (v.EVENT_STEP_METRICS, {v.METRICS: 5}, "step metrics without a map of values"),
        (v.EVENT_REWARD, {v.REWARD_VALUE: "high"}, "reward without a number"),
        (v.EVENT_REWARD, {v.REWARD_VALUE: 1.0, v.TRAJECTORY_ID: "mine"}, "rl.reward that names no trajectory"),
        (v.EVENT_FACTS, {v.TRAJECTORY_ID: "0" * 32}, "facts of a trajectory without a map of values"),
        (v.EVENT_TABLE, {v.TABLE_ROWS: "{"}, "table whose rows are no JSON list of objects"),
        (v.EVENT_ARTIFACT, {}, "artifact without a name"),
        (v.EVENT_TOKENS, {v.TOKENS_IDS: b"abc"}, "token segment without packed ids"),
    ],
)
def test_what_cannot_be_used_is_counted_by_name(bridge: Bridge, name: str, attributes: dict[str, object], reason: str) -> None:
    """A broken event is set aside under its reason, its neighbours arrive, and the ledger has nothing waiting."""
    with process() as worker:
        worker.memory.recorder.event(name, attributes)
        rs.log({"loss": 1.0}, step=1)
        send(bridge, worker)
    assert len(bridge.of(StepMetrics)) == 1
    (line,) = bridge.ledger().runs[0].producers
    assert line.set_aside == {reason: 1}
    assert line.waiting == 0


def test_integers_beyond_64_bits_arrive_as_text(bridge: Bridge) -> None:
    """JSON can say them and a record cannot: in rows, messages and arguments they become their digits, and nothing else is lost."""
    with process() as worker:
        rs.table("powers", rows=[{"n": 2**100, 2**70: [-(2**90)]}, {"n": 10**5000}, {"n": 2**64 - 1}])
        with rs.trajectory(group="g", index=0, step=1), rs.generation(model="m", messages=[{"role": "tool", "content": {"n": 2**100}}]):
            pass
        send(bridge, worker)
    (table,) = bridge.of(Table)
    (found,) = bridge.of(Trajectory)
    assert table.rows[0] == {"n": str(2**100), str(2**70): [str(-(2**90))]}
    assert table.rows[2] == {"n": 2**64 - 1}
    assert str(2**100) in repr(found)
    assert bridge.sources()[worker.producer] == worker.memory.journal.last_sequence


def test_an_event_that_cannot_be_translated_costs_no_other(bridge: Bridge) -> None:
    """It is set aside, counted and named; the rest of its request goes on."""
    with process() as worker:
        rs.log({"loss": 0.5}, step=1)
        worker.memory.recorder.event(
            v.EVENT_REWARD, {v.REWARD_VALUE: 1.0, v.REWARD_COMPONENTS: '{"x": 1%s}' % ("0" * 400)}, trace_id=b"a" * 16
        )
        rs.log({"loss": 0.4}, step=2)
        send(bridge, worker)
    assert [found.step for found in bridge.of(StepMetrics)] == [1, 2]
    (producer,) = bridge.ledger().runs[0].producers
    assert producer.set_aside == {"rl.reward that cannot be translated: OverflowError": 1}
