"""Offline runs: what stands in the folders, and that `wandb sync` takes them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rollscope_exporters.backends.wandb import WandbBackend, WandbConfig
from rollscope_exporters.backends.wandb._compat import abandon_client
from rollscope_exporters.backends.wandb._files import RunFiles
from rollscope_exporters.backends.wandb._history import History
from rollscope_exporters.images import digest_of
from rollscope_exporters.records import Artifact, StepMetrics, Trajectory
from rollscope_exporters.testing import NOW, Sampler, deliver
from rollscope_exporters.testing._expected import expected
from rollscope_exporters.testing.conformance import comparable
from tests.airline import as_trajectory, load_conversations
from tests.exporters.backends.wandb.folders import digest, history, inspect, late_rewards, message_images, read_folders, run_folders
from tests.exporters.backends.wandb.served import message_images as served_images
from tests.exporters.backends.wandb.served import read_server, rows_of
from tests.integration.wandb_workers import RUN, Workers, fill, long_run, seen_images, with_checkpoint
from tests.standins.wandb_server import WandbServer

pytestmark = [
    pytest.mark.integration,
    # sockets of a library's service that was killed
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

OFFLINE: dict[str, object] = {"mode": "offline", "flush_interval": 0.05}


def make(storage: Path, state: dict[str, Any] | None = None, **keys: object) -> WandbBackend:
    return WandbBackend(WandbConfig.model_validate({**OFFLINE, **keys}), storage, state or {})


def records_of(folder: Path, kind: str) -> list[dict[str, Any]]:
    return [record[kind] for record in inspect(folder) if record["type"] == kind]


def sync(folder: Path, server: WandbServer, home: Path) -> None:
    """`wandb sync FOLDER` against the stand-in."""
    environment = {**os.environ, "WANDB_BASE_URL": server.url, "WANDB_API_KEY": server.api_key, "HOME": str(home)}
    environment.pop("WANDB_SERVICE", None)
    answer = subprocess.run(
        [sys.executable, "-m", "wandb", "sync", str(folder)], env=environment, capture_output=True, check=False, cwd=home
    )
    assert answer.returncode == 0, answer.stderr.decode()


def test_the_axis_is_a_custom_one_and_times_are_the_records_own(tmp_path: Path) -> None:
    """Steps go into the hidden axis, other summaries than the last value are defined by name, and each row has the time of its record."""
    sampler = Sampler()
    backend = make(tmp_path, summaries={"val/loss": "min", "val/*": "max"})
    values = {"val/loss": 1.0, "loss": 2.0, **{f"val/reward_{number}": 1.0 for number in range(8)}}
    deliver(backend, [sampler.started(), sampler.metrics(5, values), sampler.metrics(3, values), sampler.finished()])
    backend.checkpoint()
    backend.close()
    (folder,) = run_folders(tmp_path, RUN)
    rows = history(folder)
    assert [row["trainer/global_step"] for row in rows] == [5, 3]
    assert [row["_timestamp"] for row in rows] == [NOW / 1e9 + 300, NOW / 1e9 + 180]
    defined = {metric["glob_name"] if "glob_name" in metric else metric["name"]: metric for metric in records_of(folder, "metric")}
    assert defined["*"]["step_metric"] == "trainer/global_step"
    summaries = {name: set(metric.get("summary", {})) for name, metric in defined.items() if name.startswith("val/")}
    assert summaries == {"val/loss": {"min"}, **{f"val/reward_{number}": {"max"} for number in range(8)}}
    assert "loss" not in defined


def test_metrics_of_hosts_are_drawn_over_time(tmp_path: Path) -> None:
    """They have no step: their place is the hours since the first attempt began, also in a later one."""
    sampler = Sampler()
    host = {"system/node-1/cpu.utilization": 0.5}

    def at(minutes: int) -> StepMetrics:
        return StepMetrics(run=RUN, time=NOW + minutes * 60_000_000_000, values=dict(host))

    backend = make(tmp_path)
    began = sampler.started().time
    deliver(backend, [sampler.started(), at(30), sampler.started(attempt=1), at(90), sampler.finished()])
    backend.checkpoint()
    backend.close()
    (folder,) = run_folders(tmp_path, RUN)
    rows = history(folder)
    assert [row["system/node-1/cpu.utilization"] for row in rows] == [0.5, 0.5]
    assert [row["rollscope/hours"] for row in rows] == pytest.approx([((NOW - began) / 1e9 + minutes * 60) / 3600 for minutes in (30, 90)])
    assert not any("trainer/global_step" in row for row in rows)
    axes = {
        metric["name"]: metric["step_metric"] for metric in records_of(folder, "metric") if "step_metric" in metric and "name" in metric
    }
    assert axes == {"system/node-1/cpu.utilization": "rollscope/hours"}


def test_a_run_is_described(tmp_path: Path) -> None:
    """Name, project, tags, notes, group, job type and configuration; nothing of the bridge's own process."""
    sampler = Sampler()
    config: dict[str, object] = {
        "lr": 1e-6,
        "wandb": {"group": "sweep-1", "job_type": "train"},
        "inf": float("inf"),
        "bytes": b"\0",
        "_wandb": 1,
    }
    backend = make(tmp_path)
    deliver(backend, [sampler.started(config=config), sampler.finished("failed", "out of memory")])
    backend.checkpoint()
    backend.close()
    (folder,) = run_folders(tmp_path, RUN)
    run = records_of(folder, "run")[0]
    assert (run["display_name"], run["project"], run["run_group"], run["job_type"]) == ("grpo-demo", "samples", "sweep-1", "train")
    assert (run["tags"], run["notes"]) == (["baseline"], "A first try.")
    assert run["config"]["update"]["inf"] == "Infinity"
    assert "git" not in run
    assert {path.name for path in (folder / "files").rglob("*") if path.is_file()} <= {
        "config.yaml",
        "wandb-summary.json",
        "wandb-metadata.json",
    }
    assert records_of(folder, "exit")[0]["exit_code"] == 1
    summary = {key: value for record in records_of(folder, "summary") for key, value in record.get("update", {}).items()}
    assert summary["rollscope/error"] == "out of memory"


@pytest.mark.parametrize("signal", ["checkpoint", "model"])
def test_artifacts_are_versions_with_type_and_aliases(tmp_path: Path, signal: str) -> None:
    """A checkpoint becomes an artifact of its type, under its aliases."""
    sampler = Sampler()
    backend = make(tmp_path)
    deliver(backend, [sampler.started(), Artifact(run=RUN, name="actor", time=1, type=signal, content=b"w", aliases=["best", "step-7"])])
    backend.checkpoint()
    backend.close()
    (folder,) = run_folders(tmp_path, RUN)
    (made,) = records_of(folder, "artifact")
    assert (made["name"], made["type"]) == ("actor", signal)
    assert set(made["aliases"]) >= {"best", "step-7"}


def test_tables_grow_with_the_run_and_not_with_its_square(tmp_path: Path) -> None:
    """Ten times as many steps need ten times the space."""

    def size(storage: Path, steps: int) -> int:
        sampler = Sampler()
        backend = make(storage)
        groups = [sampler.trajectory(step, f"task-{step}", index) for step in range(1, steps + 1) for index in range(4)]
        deliver(backend, [sampler.started(), *groups, sampler.finished()])
        backend.checkpoint()
        backend.close()
        return sum(path.stat().st_size for path in (storage / "wandb").rglob("*.table.json"))

    few, many = size(tmp_path / "few", 4), size(tmp_path / "many", 40)
    assert 9 * few < many < 11 * few


def test_airline_conversations_come_back_letter_by_letter(tmp_path: Path) -> None:
    """48 conversations out of the digest table: every message and tool call in order, under its group and trial, with its reward."""
    conversations = load_conversations()
    sampler = Sampler(RUN, project="airline", agent="airline")
    backend = make(tmp_path)
    trajectories = [as_trajectory(conversation, sampler) for conversation in conversations]
    assert deliver(backend, [sampler.started(), *trajectories, sampler.finished()]) == []
    backend.checkpoint()
    backend.close()
    rows = {row["trajectory"]: row for _, row in digest(tmp_path, RUN)}
    assert len(rows) == len(conversations) == 48
    for conversation, trajectory in zip(conversations, trajectories, strict=True):
        row = rows[trajectory.id]
        assert json.loads(row["messages"]) == conversation.messages
        assert (row["group"], row["index"], row["reward"]) == (conversation.group, conversation.trial, conversation.reward)
        assert row["turns"] == len(trajectory.generations)
        for message in conversation.messages:
            assert str(message.get("content") or "") in row["conversation"]


def test_a_reward_that_comes_in_time_stands_in_the_digest_and_a_later_one_beside_it(tmp_path: Path) -> None:
    """A judge's reward joins its row while the step is held; after that it goes to `late_rewards`."""
    sampler = Sampler()
    one, two = (sampler.trajectory(step, f"task-{step}", reward=0.0) for step in (1, 2))
    backend = make(tmp_path)
    deliver(backend, [sampler.started(), one, sampler.metrics(1), sampler.late(one, 0.7), sampler.metrics(2)])
    deliver(backend, [sampler.late(one, 0.9, "second-judge"), two, sampler.metrics(3), sampler.finished()])
    backend.checkpoint()
    backend.close()
    rows = {row["trajectory"]: (step, row) for step, row in digest(tmp_path, RUN)}
    step, row = rows[one.id]
    assert (step, row["reward"]) == (1, 0.7)
    assert [reward["value"] for reward in json.loads(row["rewards"])] == [0.0, 0.7]
    assert [(row["trajectory"], row["name"], row["value"]) for _, row in late_rewards(tmp_path, RUN)] == [(one.id, "second-judge", 0.9)]


def test_images_of_messages_stand_beside_the_digest(tmp_path: Path) -> None:
    """Each under its trajectory and the digest by which the conversation names it, also behind a restart; those above `image_bytes` are
    counted, and one that is no image is named in the row."""
    sampler = Sampler()
    one, two = sampler.seeing(1, index=1), sampler.seeing(2, index=2, content=b"x" * 600)
    broken = sampler.image(1, "broken", b"no image")
    backend = make(tmp_path, image_bytes=500)
    deliver(backend, [sampler.started(), one, two, broken])
    state = backend.checkpoint()
    backend.close()
    again = make(tmp_path, state, image_bytes=500)
    deliver(again, [sampler.finished()])
    left_out = again.checkpoint()["left_out"]
    again.close()
    ((reference, content),) = one.images.items()
    ((step, caption, shown),) = message_images(tmp_path, RUN)
    assert (step, shown) == (1, content)
    named = digest_of(reference)[:19]
    assert named in caption
    assert {row["trajectory"]: named in row["conversation"] for _, row in digest(tmp_path, RUN)} == {one.id: True, two.id: False}
    assert left_out == {"images of messages beyond image_bytes": {RUN: 1}}
    (folder,) = run_folders(tmp_path, RUN)
    assert next(row["broken"] for row in history(folder) if "broken" in row).startswith("image of 8 bytes not shown")


def test_an_artifact_that_was_kept_but_not_logged_is_logged(tmp_path: Path) -> None:
    """Killed between keeping an artifact and logging it, before any folder existed: the repetition still brings it, once."""
    sampler = Sampler()
    RunFiles(tmp_path, RUN).keep_artifact(sampler.artifact())
    backend = make(tmp_path)
    deliver(backend, [sampler.started(), sampler.artifact(), sampler.finished()])
    backend.checkpoint()
    backend.close()
    (folder,) = run_folders(tmp_path, RUN)
    assert [artifact["name"] for artifact in records_of(folder, "artifact")] == ["configs_x2f_train.yaml"]


def test_a_kill_behind_the_joining_leaves_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed when the folders are joined and the old ones still there: the next start removes them, and no row stands twice."""

    def killed(self: History, folders: list[Path]) -> None:
        raise KeyboardInterrupt

    sampler = Sampler()
    records = sampler.everything()
    backend = make(tmp_path)
    deliver(backend, records[:5])
    state = backend.checkpoint()
    backend.close()
    second = make(tmp_path, state)
    deliver(second, records[5:-1])
    state = second.checkpoint()
    with monkeypatch.context() as patch:
        patch.setattr(History, "remove", killed)
        with pytest.raises(KeyboardInterrupt):
            second.write(records[-1:])
    assert len(run_folders(tmp_path, RUN)) == 3
    abandon_client()
    third = make(tmp_path, state)
    deliver(third, records[-1:])
    third.checkpoint()
    third.close()
    (folder,) = run_folders(tmp_path, RUN)
    rows = [row["rollscope/row"] for row in history(folder)]
    assert rows == list(range(len(rows)))
    found, wanted = read_folders(tmp_path, RUN), expected(records, RUN)
    for name in ("status", "metrics", "tables", "images", "artifacts"):
        assert comparable(getattr(found, name)) == comparable(getattr(wanted, name)), name


@pytest.mark.reliability
@pytest.mark.parametrize(("seed", "kills", "steps"), [(11, 2, 8), pytest.param(11, 6, 30, marks=pytest.mark.soak)])
def test_a_worker_killed_again_and_again_leaves_one_folder_that_syncs(tmp_path: Path, seed: int, kills: int, steps: int) -> None:
    """SIGKILL at random moments: at the end there is one folder with each row once, and `wandb sync` brings it to a server whole."""
    records = long_run(steps)
    end = fill(tmp_path, with_checkpoint(records, tmp_path / "ckpt"))
    workers = Workers(tmp_path, artifacts__models="upload", **OFFLINE)
    workers.deliver_under_kills(end, kills=kills, seed=seed)
    found, wanted = read_folders(tmp_path, RUN), expected(records, RUN)
    assert found.artifacts is not None
    assert found.artifacts.pop("ckpt/step-10", None) is not None
    for name in ("name", "status", "metrics", "tables", "histograms", "images", "artifacts"):
        assert comparable(getattr(found, name)) == comparable(getattr(wanted, name)), name
    (folder,) = run_folders(tmp_path, RUN)
    server = WandbServer().start()
    try:
        sync(folder, server, tmp_path)
        (version,) = server.versions("ckpt_x2f_step-10")
        assert version.files == {f"shards/{path.name}": path.read_bytes() for path in (tmp_path / "ckpt" / "shards").iterdir()}
        server.artifacts.remove(version)
        synced = read_server(server, RUN)
        assert comparable(synced.metrics) == comparable(wanted.metrics)
        assert comparable(synced.tables) == comparable(wanted.tables)
        assert comparable(synced.artifacts) == comparable(wanted.artifacts)
        assert comparable(synced.images) == comparable(wanted.images)
        assert synced.status == "finished"
        held = [row["trajectory"] for _, row in rows_of(server.runs[RUN], "trajectories/train")]
        assert sorted(held) == sorted(record.id for record in records if isinstance(record, Trajectory))
        assert Counter(content for _, _, content in served_images(server.runs[RUN])) == seen_images(records)
        assert server.unknown == []
    finally:
        server.stop()
