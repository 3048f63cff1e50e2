"""What a worker remembers survives kill -9, as far as its position vouches for it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope_exporters.records import LateFacts, Record, Reward, RunFinished, RunStarted, StepMetrics, Trajectory
from rollscope_exporters.settings import Settings
from rollscope_exporters.store import OutboxRow
from rollscope_exporters.worker import Feed, Position, PositionFile, worker_folder
from rollscope_exporters.worker._left_out import FULL, LeftOut, LeftOutFile, Mark
from rollscope_exporters.worker._memory import EVERY_N_STEPS, FACTS, Memory
from rollscope_exporters.worker._shape import Shaper

from .outbox import FilledStore, MemoryOutbox

CONFIG = {"metrics": {"every_n_steps": 7}, "trajectories": {"sample_rate": 0.3}}
SIGNALS = frozenset({"runs", "metrics", "trajectories"})


def workload(seed: int, steps: int) -> list[Record]:
    """Steps of two processes, a little out of order, with trajectories and rewards that come late; a run from start to end."""
    rng = random.Random(seed)
    found: list[Record] = []
    for step in range(steps):
        found += [StepMetrics(run="r1", time=step, step=step, values={"x/sum": 1, "loss": float(step)}, producer=p) for p in "pq"]
        for group in range(3):
            id = f"{step:016x}{group:016x}"
            reward = [Reward(value=rng.random())]
            found.append(Trajectory(run="r1", id=id, start=0, end=1, step=step, group=str(group), spans=[], rewards=reward))
            found.append(LateFacts(run="r1", trajectory=id, step=step, rewards=reward))
    order = sorted(range(len(found)), key=lambda place: place + rng.uniform(0, 6))
    kept_apart = [found[place] for place in order]
    kept_apart.sort(key=lambda record: isinstance(record, LateFacts))  # a late fact is late
    started = RunStarted(run="r1", name="r1", project="p", time=0)
    return [started, *kept_apart, RunFinished(run="r1", time=steps, status="finished")]


class Life:
    """A worker's reading side in one process: what it hands on, up to where it is stopped."""

    def __init__(self, folder: Path, outbox: MemoryOutbox) -> None:
        config = Settings.model_validate(CONFIG)
        self.position = PositionFile(folder)
        current = self.position.current
        file = LeftOutFile(folder, current.left_out_ids)
        left_out = LeftOut(file.read())
        metrics, trajectories = config.metrics_of("b"), config.trajectories_of("b")
        self.position.remember_with(Memory(metrics, trajectories, file, current.memory), file)
        shaper = Shaper(config, "b", Memory(metrics, trajectories, left_out, current.memory), left_out)
        self.feed = Feed(outbox, SIGNALS, None, lambda run: True, shaper)

    def deliver(self, rows: int, most: int) -> list[Record]:
        """Hand on a batch, save after `most` of it, and forget the rest."""
        current = self.position.current
        batch = self.feed.next(current.position, rows, 1 << 30, current.parts)
        self.position.expect(batch.passing)
        items = batch.items[:most]
        if items:
            self.position.advance(*items[-1].reached)
        if len(items) == len(batch.items):
            self.position.advance(batch.upto)
        self.position.save()
        return [item.record for item in items if item.record is not None]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30, deadline=None)
@given(seed=st.integers(0, 99), cuts=st.lists(st.tuples(st.integers(1, 40), st.integers(0, 12)), max_size=30))
def test_lives_that_end_anywhere_hand_on_what_one_life_does(
    tmp_path_factory: pytest.TempPathFactory, seed: int, cuts: list[tuple[int, int]]
) -> None:
    """Also within the several records that one row becomes; and they count the same."""
    outbox = MemoryOutbox(workload(seed, 20))
    whole, parts = tmp_path_factory.mktemp("whole"), tmp_path_factory.mktemp("parts")
    wanted = Life(whole, outbox).deliver(10_000, 10_000)
    found: list[Record] = []
    for rows, most in cuts:
        found += Life(parts, outbox).deliver(rows, most)
    found += Life(parts, outbox).deliver(10_000, 10_000)
    assert found == wanted
    assert PositionFile(parts).current.left_out == PositionFile(whole).current.left_out


def test_what_is_left_out_is_counted_by_reason(tmp_path: Path) -> None:
    """And each late fact follows its trajectory."""
    records = workload(1, 20)
    life = Life(tmp_path, MemoryOutbox(records))
    found = life.deliver(10_000, 10_000)
    left_out = life.position.current.left_out
    trajectories = sum(isinstance(record, Trajectory) for record in found)
    assert left_out[EVERY_N_STEPS] == {"r1": 40}
    assert left_out["trajectories.sample_rate"] == {"r1": 60 - trajectories} == left_out[FACTS]
    kept = {record.id for record in found if isinstance(record, Trajectory)}
    assert {record.trajectory for record in found if isinstance(record, LateFacts)} == kept
    assert sum(int(record.values["x/sum"]) for record in found if isinstance(record, StepMetrics)) == 40


def test_files_of_ids_are_bounded_and_cut_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was appended after the position does not count; the last two files do."""
    assert FULL % 8 == 0
    monkeypatch.setattr("rollscope_exporters.worker._left_out.FULL", 80)
    file, mark = LeftOutFile(tmp_path, Mark()), Mark()
    for number in range(45):
        file.add(str(number))
        mark = file.flush()
        if number == 43:
            before = mark
    assert sorted(path.name for path in tmp_path.iterdir()) == ["left_out.3", "left_out.4"]
    known = LeftOut(LeftOutFile(tmp_path, before).read())
    assert [number for number in range(46) if str(number) in known] == list(range(30, 44))
    again = LeftOutFile(tmp_path, before)
    again.add("other")
    known = LeftOut(LeftOutFile(tmp_path, again.flush()).read())
    assert "other" in known
    assert "44" not in known


def lines(storage: Path) -> list[dict[str, object]]:
    """Records the jsonl backend holds, in its order by file."""
    return [json.loads(line) for file in sorted((storage / "jsonl").rglob("*.jsonl")) for line in file.read_text().splitlines()]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[FilledStore]:
    """A store with a run that wants jsonl."""
    filled = FilledStore(tmp_path)
    filled.announce("r1", ["jsonl"])
    yield filled
    filled.close()


def start(storage: Path) -> subprocess.Popen[bytes]:
    """A worker with the configuration of these tests."""
    command = [sys.executable, "-m", "rollscope_exporters.worker", "--storage", str(storage), "--backend", "jsonl"]
    command += ["--config", str(storage / "c.yaml")]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)


def saved(storage: Path) -> Position:
    path = worker_folder(storage, "jsonl") / "position.json"
    return msgspec.json.decode(path.read_bytes(), type=Position) if path.exists() else Position()


def test_killed_at_random_a_window_counts_every_step_once(store: FilledStore, tmp_path: Path) -> None:
    """Six kills -9 of the real process while steps come: the points, the sample and the counts are those of one life."""
    (tmp_path / "c.yaml").write_text(json.dumps({**CONFIG, "workers": {"batch_rows": 5}}))
    records, sent = workload(3, 120), 0
    for _ in range(6):
        store.add(records[sent : sent + 150])
        sent += 150
        before = saved(tmp_path).position
        worker = start(tmp_path)
        with worker:
            end = time.monotonic() + 60
            while saved(tmp_path).position <= before + 60:
                assert time.monotonic() < end, "the worker does not go on"
                time.sleep(0.005)
            worker.kill()
    store.add(records[sent:])
    with start(tmp_path) as worker:
        end = time.monotonic() + 60
        while saved(tmp_path).position < len(records):
            assert time.monotonic() < end, "the worker does not come to the end"
            time.sleep(0.02)
        assert worker.stdin is not None
        worker.kill()
    whole = tmp_path / "whole"
    whole.mkdir()
    wanted = Life(whole, MemoryOutbox(records)).deliver(100_000, 100_000)
    kinds = ("metrics", "trajectory", "late_facts")
    found = [line for line in lines(tmp_path) if line.get("record") in kinds]
    expected = [record for record in wanted if isinstance(record, (StepMetrics, Trajectory, LateFacts))]
    by_kind = {kind: [line for line in found if line["record"] == kind] for kind in kinds}
    assert [(line["step"], line["producer"], line["values"]) for line in by_kind["metrics"]] == [
        (record.step, record.producer, record.values) for record in expected if isinstance(record, StepMetrics)
    ]
    assert [line["id"] for line in by_kind["trajectory"]] == [record.id for record in expected if isinstance(record, Trajectory)]
    assert [line["trajectory"] for line in by_kind["late_facts"]] == [r.trajectory for r in expected if isinstance(r, LateFacts)]
    assert saved(tmp_path).left_out == PositionFile(whole).current.left_out


def test_rows_that_become_nothing_are_passed(tmp_path: Path) -> None:
    """And the position stands at the head."""
    outbox = MemoryOutbox([StepMetrics(run="r1", time=1, step=1, values={"x": 1.0})])
    life = Life(tmp_path, outbox)
    assert life.deliver(10, 10) == []
    assert (life.position.current.position, life.position.current.parts) == (1, 0)
    assert isinstance(outbox.rows(0, signals=SIGNALS)[0], OutboxRow)
