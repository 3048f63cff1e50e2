"""Runs that go to a W&B server, here the stand-in for its API: complete, once, and through every outage."""

from __future__ import annotations

import shutil
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rollscope_exporters.backends import Backend, BusyError, UnavailableError
from rollscope_exporters.backends.wandb import WandbBackend, WandbConfig, sync
from rollscope_exporters.backends.wandb._compat import abandon_client
from rollscope_exporters.records import Artifact, Record, Trajectory
from rollscope_exporters.testing import NOW, Contents, Sampler, deliver
from rollscope_exporters.testing._expected import expected
from rollscope_exporters.testing.conformance import BackendConformance, comparable
from rollscope_exporters.uploads import read_uploads
from tests.exporters.backends.persistence import deliver_at_last
from tests.exporters.backends.wandb.served import message_images, read_server, rows_of
from tests.exporters.uploads.checkpoints import checkpoint, recorded
from tests.integration.wandb_workers import RUN, Workers, fill, long_run, seen_images, with_checkpoint
from tests.standins.http_proxy import HttpProxy
from tests.standins.wandb_server import WandbServer

pytestmark = [
    pytest.mark.integration,
    # sockets of a library's service that was killed
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

QUICK: dict[str, object] = {
    "mode": "online", "flush_interval": 0.05, "upload_interval": 1, "init_timeout": 8, "finish_timeout": 15, "recheck": 1,
    "upload_retries": 1,
}  # fmt: skip


@pytest.fixture
def server() -> Iterator[WandbServer]:
    """The stand-in, whose answers all were known to it."""
    found = WandbServer().start()
    yield found
    found.stop()
    abandon_client()
    assert found.unknown == []


def make(server: WandbServer, storage: Path, **keys: object) -> Backend:
    section = {**QUICK, "base_url": server.url, "api_key": server.api_key, **keys}
    return WandbBackend(WandbConfig.model_validate(section), storage, {})


class TestWandbOnline(BackendConformance):
    """The suite that every backend must pass, on what the server got."""

    backend = "rollscope_exporters.backends.wandb:WandbBackend"

    @pytest.fixture(autouse=True)
    def _server(self, server: WandbServer) -> None:
        self.server = server
        type(self).config = {**QUICK, "base_url": server.url, "api_key": server.api_key}

    def read(self, storage: Path, run: str) -> Contents:
        until = time.monotonic() + 60
        found = read_server(self.server, run)
        while time.monotonic() < until and self.pending(found, storage, run):  # the upload runs behind the folder
            time.sleep(0.05)
            found = read_server(self.server, run)
        return found

    def pending(self, found: Contents, storage: Path, run: str) -> bool:
        from rollscope_exporters.backends.wandb._history import History

        return len(self.server.runs[run].history) < History(storage, run).survey().rows


def is_as_recorded(server: WandbServer, records: list[object]) -> None:
    """Compare what the server holds with what was recorded."""
    found, wanted = read_server(server, RUN), expected(records, RUN)  # type: ignore[arg-type]
    for name in ("name", "status", "metrics", "tables", "histograms", "images", "artifacts"):
        assert comparable(getattr(found, name)) == comparable(getattr(wanted, name)), name
    rows = [row["rollscope/row"] for row in server.runs[RUN].history]
    assert rows == list(range(len(rows)))
    assert [row["_step"] for row in server.runs[RUN].history] == rows


@pytest.mark.reliability
@pytest.mark.parametrize(
    ("seed", "kills", "steps"), [(7, 2, 8), *(pytest.param(seed, 6, 30, marks=pytest.mark.soak) for seed in range(100, 110))]
)
def test_a_worker_killed_again_and_again_leaves_every_row_once(
    server: WandbServer, tmp_path: Path, seed: int, kills: int, steps: int
) -> None:
    """SIGKILL at random moments, then the end: each row with its table or image, each artifact and checkpoint is on the server once."""
    records = long_run(steps)
    end = fill(tmp_path, with_checkpoint(records, tmp_path / "ckpt"))
    workers = Workers(tmp_path, artifacts__models="upload", **{**QUICK, "base_url": server.url, "api_key": server.api_key})
    workers.deliver_under_kills(end, kills=kills, seed=seed)
    (version,) = server.versions("ckpt_x2f_step-10")
    assert version.files == {f"shards/{path.name}": path.read_bytes() for path in (tmp_path / "ckpt" / "shards").iterdir()}
    server.artifacts.remove(version)
    is_as_recorded(server, list(records))
    stored = server.runs[RUN]
    held = {row["trajectory"] for _, row in rows_of(stored, "trajectories/train")}
    assert held == {record.id for record in records if isinstance(record, Trajectory)}
    assert Counter(content for _, _, content in message_images(stored)) == seen_images(records)


def test_a_run_is_described_to_the_server(server: WandbServer, tmp_path: Path) -> None:
    """Names, tags, notes, group, job type and configuration; its rows' own times and steps, and the summaries that were asked for."""
    sampler = Sampler()
    config: dict[str, object] = {"lr": 1e-6, "wandb": {"group": "sweep-1", "job_type": "train"}}
    backend = make(server, tmp_path, summaries={"val/*": "max"})
    names = [f"val/reward_{number}" for number in range(8)]
    rows = [sampler.metrics(step, dict.fromkeys(names, value) | {"loss": value}) for step, value in ((5, 0.25), (3, 0.75), (7, 0.5))]
    deliver(backend, [sampler.started(config=config), *rows, sampler.finished("failed", "out of memory")])
    backend.checkpoint()
    backend.close()
    stored = server.runs[RUN]
    assert (stored.display_name, stored.project, stored.state) == ("grpo-demo", "samples", "failed 1")
    assert (stored.tags, stored.notes, stored.group, stored.job_type) == (["baseline"], "A first try.", "sweep-1", "train")
    assert (stored.config["lr"], stored.config["rollscope"]["run_id"]) == (1e-6, RUN)
    assert [row["trainer/global_step"] for row in stored.history] == [5, 3, 7]
    assert [row["_timestamp"] for row in stored.history] == [NOW / 1e9 + step * 60 for step in (5, 3, 7)]
    assert {name: stored.summary[name] for name in names} == {name: {"max": 0.75} for name in names}
    assert (stored.summary["loss"], stored.summary["rollscope/error"]) == (0.5, "out of memory")


def test_the_key_comes_from_the_environment(server: WandbServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Address and key by W&B's own variables are enough to go online."""
    monkeypatch.setenv("WANDB_BASE_URL", server.url)
    monkeypatch.setenv("WANDB_API_KEY", server.api_key)
    backend = make(server, tmp_path, mode="auto", base_url="", api_key="")
    deliver(backend, [Sampler().started(), Sampler().metrics(1), Sampler().finished()])
    backend.checkpoint()
    backend.close()
    assert [row["trainer/global_step"] for row in server.runs[RUN].history] == [1]


def test_the_key_stands_in_no_file(server: WandbServer, tmp_path: Path) -> None:
    """Neither logs nor configuration nor metadata on the disk or on the server hold the API key."""
    backend = make(server, tmp_path)
    deliver(backend, Sampler().everything())
    backend.checkpoint()
    backend.close()
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert server.api_key.encode() not in path.read_bytes(), path
    assert server.api_key not in str(server.runs) + str(server.artifacts)


def test_a_server_that_is_absent_at_first_gets_everything_later(server: WandbServer, tmp_path: Path) -> None:
    """Rows go to an offline folder that is marked; when the server answers they follow, with the rest of the run, once."""
    records = Sampler().everything(4)
    server.stop()
    backend = make(server, tmp_path, recheck=1)
    deliver(backend, records[:8])
    backend.checkpoint()
    assert server.runs == {}
    assert next(path.name for path in (tmp_path / "wandb").glob("*run-*")).startswith("offline-")
    assert (tmp_path / "wandb" / "rollscope" / RUN / "needs_sync.json").exists()
    server.start()
    time.sleep(2.1)
    backend.checkpoint()
    deliver(backend, records[8:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))
    assert not (tmp_path / "wandb" / "rollscope" / RUN / "needs_sync.json").exists()


def test_an_outage_in_the_middle_delays_and_loses_nothing(server: WandbServer, tmp_path: Path) -> None:
    """The server is gone until the client has given up on it: the backend goes on in a folder and sends what was missed."""
    records = Sampler().everything(6)
    backend = make(server, tmp_path, upload_retries=0)
    deliver(backend, records[:12])
    backend.checkpoint()
    server.stop()
    deliver(backend, records[12:24])
    backend.checkpoint()
    time.sleep(3)
    backend.checkpoint()
    server.start()
    time.sleep(2.1)
    backend.checkpoint()
    deliver(backend, records[24:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))


def test_the_end_of_a_run_waits_for_the_server_and_then_gives_up(server: WandbServer, tmp_path: Path) -> None:
    """Within `patience` the end is unavailable, so the worker keeps its position; then the run is left to `sync`, which sends it."""
    records = Sampler().everything()
    server.stop()
    backend = make(server, tmp_path, patience=3600)
    deliver(backend, records[:-1])
    backend.checkpoint()
    with pytest.raises(UnavailableError, match="cannot be reached"):
        backend.write(records[-1:])
    backend.close()
    impatient = WandbBackend(
        WandbConfig.model_validate({**QUICK, "base_url": server.url, "api_key": "k" * 40, "patience": 0}), tmp_path, {}
    )
    deliver(impatient, records)
    impatient.checkpoint()
    impatient.close()
    server.start()
    assert sync(tmp_path, WandbConfig.model_validate({**QUICK, "base_url": server.url, "api_key": server.api_key})) == []
    is_as_recorded(server, list(records))
    assert sync(tmp_path, WandbConfig.model_validate({**QUICK, "base_url": server.url, "api_key": server.api_key})) == []


@pytest.mark.parametrize("status", [500, 429])
def test_a_sick_server_at_the_end_is_no_end(server: WandbServer, tmp_path: Path, status: int) -> None:
    """While uploads are answered with an error the end does not hang; cured, everything arrives."""
    records = Sampler().everything()
    backend = make(server, tmp_path, finish_timeout=2)
    deliver(backend, records[:-1])
    backend.checkpoint()
    server.faults["file_stream"] = status
    with pytest.raises(UnavailableError):
        backend.write(records[-1:])
    server.faults.clear()
    deliver_at_last(backend, records[-1:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))


def test_a_stream_that_is_refused_for_good_is_sent_in_a_new_one(server: WandbServer, tmp_path: Path) -> None:
    """After 409 the client uploads nothing more from its folder; the backend notices and opens another."""
    records = Sampler().everything(4)
    backend = make(server, tmp_path)
    deliver(backend, records[:5])
    backend.checkpoint()
    server.faults["file_stream"] = 409
    deliver(backend, records[5:15])
    backend.checkpoint()
    time.sleep(2.1)
    server.faults.clear()
    backend.checkpoint()
    time.sleep(2.1)
    backend.checkpoint()
    deliver(backend, records[15:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))


def test_a_refused_key_says_so(server: WandbServer, tmp_path: Path) -> None:
    """A wrong key is named with the cure, and nothing is written past it."""
    backend = make(server, tmp_path, api_key="x" * 40)
    with pytest.raises(UnavailableError, match="refuses the API key"):
        backend.write([Sampler().started()])
    backend.close()


def test_a_dead_client_is_replaced(server: WandbServer, tmp_path: Path) -> None:
    """The library's own process dies between two writes: the next one starts another and repeats what it took along."""
    records = Sampler().everything(3)
    backend = make(server, tmp_path)
    deliver(backend, records[:6])
    abandon_client()
    deliver(backend, records[6:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))


def test_late_facts_after_the_end_are_still_taken(server: WandbServer, tmp_path: Path) -> None:
    """A run that is over takes a judge's reward and a second attempt, and ends again."""
    sampler = Sampler()
    records = sampler.everything()
    backend = make(server, tmp_path)
    deliver(backend, records)
    more = [
        sampler.late(sampler.trajectory(1, "task-1", 1), 0.3, "late-judge"),
        sampler.started(attempt=1),
        sampler.metrics(3),
        sampler.finished(),
    ]
    deliver(backend, more)
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, [*records, *more])
    assert ("late-judge", 0.3) in [(row["name"], row["value"]) for _, row in rows_of(server.runs[RUN], "late_rewards")]


@pytest.mark.parametrize("by", ["setting", "environment"])
def test_requests_go_through_the_proxy(server: WandbServer, tmp_path: Path, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every request of a run takes the proxy, whether a key or the environment names it."""
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    with HttpProxy({"wandb.test": server.port}) as proxy:
        if by == "environment":
            monkeypatch.setenv("HTTP_PROXY", proxy.url)
        keys = {"http_proxy": proxy.url} if by == "setting" else {}
        server.public_url = "http://wandb.test"
        records = Sampler().everything()
        backend = make(server, tmp_path, base_url="http://wandb.test", **keys)
        deliver(backend, records)
        backend.checkpoint()
        backend.close()
        is_as_recorded(server, list(records))
        assert len(proxy.requests) >= len(server.requests)


def test_a_file_that_did_not_arrive_with_its_row_is_sent_again(server: WandbServer, tmp_path: Path) -> None:
    """Rows are taken and their tables' files refused: the end waits, and the next try brings the files without a row twice."""
    records = Sampler().everything()
    backend = make(server, tmp_path, upload_retries=0)
    server.faults["storage/run"] = 403
    deliver(backend, records[:-1])
    backend.checkpoint()
    with pytest.raises(UnavailableError, match="of their files"):
        backend.write(records[-1:])
    server.faults.clear()
    backend.write(records[-1:])
    backend.checkpoint()
    backend.close()
    is_as_recorded(server, list(records))


def test_files_of_rows_that_only_the_server_has_are_sent_again(server: WandbServer, tmp_path: Path) -> None:
    """Killed when a row was sent and neither its line in the log nor its file was safe: the repetition brings the file, no second row."""
    records = Sampler().everything()
    backend = make(server, tmp_path)
    deliver(backend, records[:-1])
    backend.checkpoint()
    backend.close()
    stored = server.runs[RUN]
    lost = [name for name in stored.files if name.startswith("media/")]
    assert lost
    for name in lost:
        del stored.files[name]
    for folder in (tmp_path / "wandb").glob("run-*"):
        shutil.rmtree(folder)
    again = make(server, tmp_path)
    deliver(again, records)
    again.checkpoint()
    again.close()
    is_as_recorded(server, list(records))
    assert set(lost) <= set(stored.files)


def end(backend: Backend, records: list[Record], seconds: float = 120.0) -> None:
    """Deliver the end of a run as a worker does, which waits while the backend is busy."""
    until = time.monotonic() + seconds
    while True:
        try:
            return backend.write(records)
        except BusyError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_checkpoint_becomes_one_version(server: WandbServer, tmp_path: Path) -> None:
    """Its files are uploaded from where they lie, while rows go on; the run ends when the server has made a version of them, under its
    aliases, once, though the bridge stopped while uploads were refused."""
    place = checkpoint(tmp_path / "ckpt", {"config.json": b"{}", "shards/a.bin": b"a" * 1000})
    artifact = recorded(place, aliases=("best",))
    records = Sampler().everything()
    backend = make(server, tmp_path, upload_retries=0)
    server.faults["storage/artifact"] = 403
    deliver(backend, [*records[:4], artifact])
    backend.checkpoint()
    deliver(backend, records[4:-1])
    state = backend.checkpoint()
    with pytest.raises(BusyError, match="a checkpoint is on its way"):
        backend.write(records[-1:])
    backend.close()
    server.faults.clear()
    again = WandbBackend(WandbConfig.model_validate({**QUICK, "base_url": server.url, "api_key": server.api_key}), tmp_path, state)
    end(again, records[-1:])
    again.checkpoint()
    again.close()
    (version,) = server.versions("ckpt_x2f_step-10")
    assert version.files == {"config.json": b"{}", "shards/a.bin": b"a" * 1000}
    assert sorted(version.aliases) == ["best", "latest"]
    server.artifacts.remove(version)
    is_as_recorded(server, list(records))


def test_a_checkpoint_that_was_left_behind_is_sent_later(server: WandbServer, tmp_path: Path) -> None:
    """The server stayed away for longer than `patience`: the run ends without its checkpoint, which `sync` brings with the rows."""
    place = checkpoint(tmp_path / "ckpt", {"a.bin": b"a" * 1000})
    records = [Sampler().started(), recorded(place), Sampler().metrics(1), Sampler().finished()]
    server.stop()
    backend = make(server, tmp_path, patience=0)
    deliver(backend, records)
    backend.checkpoint()
    backend.close()
    server.start()
    assert sync(tmp_path, WandbConfig.model_validate({**QUICK, "base_url": server.url, "api_key": server.api_key})) == []
    (version,) = server.versions("ckpt_x2f_step-10")
    assert version.files == {"a.bin": b"a" * 1000}
    assert read_uploads(tmp_path) == []
    server.artifacts.remove(version)
    is_as_recorded(server, [record for record in records if not isinstance(record, Artifact)])
