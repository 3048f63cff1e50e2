"""SwanLab's client against a stand-in for its server: live and synced, with outages, kills and late steps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rollscope_exporters.backends import UnavailableError
from rollscope_exporters.backends.swanlab import SwanlabBackend, SwanlabConfig
from rollscope_exporters.records import StepMetrics
from rollscope_exporters.testing import NOW, Sampler, deliver, deliver_and_die
from tests.exporters.backends.persistence import deliver_at_last
from tests.exporters.backends.swanlab.reading import folders_of
from tests.standins.swanlab_server import KEY, SwanlabServer, shape, swanlab_server
from tests.waiting import until

pytestmark = pytest.mark.integration
BACKEND = "rollscope_exporters.backends.swanlab:SwanlabBackend"
TRAFFIC = Path(__file__).parents[1] / "standins" / "swanlab_traffic.json"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[SwanlabServer]:
    monkeypatch.setenv("SWANLAB_API_KEY", KEY)
    with swanlab_server() as running:
        yield running


def config(server: SwanlabServer, mode: str, **more: Any) -> dict[str, Any]:
    return {"mode": mode, "api_host": server.host, "hold_seconds": 0, "sync_interval": 0.5, "finish_timeout": 60, **more}


def open_backend(server: SwanlabServer, mode: str, storage: Path, state: dict[str, Any] | None = None, **more: Any) -> SwanlabBackend:
    return SwanlabBackend(SwanlabConfig.model_validate(config(server, mode, **more)), storage, state or {})


def points(server: SwanlabServer, key: str = "reward/mean") -> Counter[tuple[int, str]]:
    """Step and time of every value of a key that the server got."""
    found = [point for run in server.experiments.values() for point in run.scalars if point["key"] == key]
    return Counter((point["index"], point["create_time"]) for point in found)


def expected(*steps: int) -> Counter[tuple[int, str]]:
    return Counter((step, f"2026-01-01T00:{step:02d}:00Z") for step in steps)


@pytest.mark.parametrize("mode", ["cloud", "sync"])
def test_a_run_arrives_once_with_its_own_times(server: SwanlabServer, tmp_path: Path, mode: str) -> None:
    """Metrics, texts, tables, configuration, tags and the end of a run reach the server, each once, under the run's id."""
    sampler = Sampler()
    backend = open_backend(server, mode, tmp_path)
    assert deliver(backend, sampler.everything()) == []
    backend.checkpoint()
    backend.close()

    (run,) = server.experiments.values()
    assert run.id == "run-1"
    assert run.about["name"] == "grpo-demo"
    assert run.about["labels"] == [{"name": "baseline"}]
    assert run.profile["config"]["trainer"]["value"] == {"lr": 1e-6, "steps": 30}
    assert points(server) == expected(1, 2)
    assert run.states[-1] == "FINISHED"
    media = {(point["key"], point["index"]): point["data"] for point in run.media}
    keys = ("trajectories/train", "messages/train", "tables/val/generations", "images/val/plot")
    assert set(media) == {(key, step) for key in keys for step in (1, 2)}
    (picture,) = (server.files[f"run-1/{path}"] for path in media["images/val/plot", 2])
    assert picture == sampler.image(2).content
    told = [json.loads(server.files[f"run-1/{path}"]) for path in media["messages/train", 1]]
    assert told == [sampler.conversation("task-1", 0), sampler.conversation("task-1", 1)]


@pytest.mark.parametrize("mode", ["cloud", "sync"])
def test_what_hosts_measure_reaches_the_system_view(server: SwanlabServer, tmp_path: Path, mode: str) -> None:
    """The server is told of columns of the kind that it draws there, and gets their values."""
    sampler = Sampler()
    backend = open_backend(server, mode, tmp_path)
    deliver(backend, [sampler.started(), StepMetrics(run="run-1", time=NOW + 10**9, values={"system/node-0/cpu.utilization": 0.25})])
    deliver(backend, [sampler.finished()])
    backend.checkpoint()
    backend.close()
    kinds = {column["key"]: column["type"] for columns in server.columns.values() for column in columns}
    assert kinds == {"__swanlab__.node-0/cpu.utilization": "SYSTEM"}
    assert points(server, "__swanlab__.node-0/cpu.utilization") == Counter({(1, "2026-01-01T00:00:01Z"): 1})


def test_an_offline_folder_is_taken_by_swanlabs_own_sync(server: SwanlabServer, tmp_path: Path) -> None:
    """`swanlab sync --id` brings a folder of mode `offline` to a server whole: scalars with their times, texts, tables, images, its end."""
    sampler = Sampler()
    backend = open_backend(server, "offline", tmp_path)
    assert deliver(backend, sampler.everything()) == []
    backend.checkpoint()
    backend.close()
    assert server.requests == []
    (folder,) = folders_of(tmp_path / "swanlog", "run-1")
    command = [sys.executable, "-m", "swanlab", "sync", "-h", server.host, "-k", KEY, "-p", "samples", "--id", "run-1", str(folder)]
    done = subprocess.run(command, env={**os.environ, "HOME": str(tmp_path)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (run,) = server.experiments.values()
    assert (run.id, run.states[-1]) == ("run-1", "FINISHED")
    assert points(server) == expected(1, 2)
    assert {point["key"] for point in run.media} == {"trajectories/train", "messages/train", "tables/val/generations", "images/val/plot"}


def test_a_private_host_comes_by_environment_too(server: SwanlabServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`SWANLAB_API_HOST` and `SWANLAB_WORKSPACE` name the server and the team where the configuration does not."""
    monkeypatch.setenv("SWANLAB_API_HOST", f"{server.host}/api")
    monkeypatch.setenv("SWANLAB_WORKSPACE", "team")
    backend = open_backend(server, "sync", tmp_path, api_host="")
    deliver(backend, [Sampler().started(), Sampler().metrics(1), Sampler().finished()])
    backend.checkpoint()
    backend.close()
    assert points(server) == expected(1)
    assert {path.split("/")[3] for _, path, _ in server.requests if path.startswith("/api/project/")} == {"team"}


def test_a_synced_run_is_seen_while_it_goes_on(server: SwanlabServer, tmp_path: Path) -> None:
    """Rounds bring what is new, steps below those uploaded too, and the run is shown as running until it ends."""
    sampler = Sampler()
    backend = open_backend(server, "sync", tmp_path)
    deliver(backend, [sampler.started(), sampler.metrics(5)])
    backend.checkpoint()
    until(lambda: points(server) == expected(5))
    deliver(backend, [sampler.metrics(3), sampler.metrics(7)])
    backend.checkpoint()
    until(lambda: points(server) == expected(3, 5, 7))
    (run,) = server.experiments.values()
    assert run.states[-1] == "RUNNING"
    deliver(backend, [sampler.metrics(4), sampler.finished("failed", "out of memory")])
    backend.checkpoint()
    backend.close()
    assert points(server) == expected(3, 4, 5, 7)
    assert run.states[-1] == "CRASHED"


@pytest.mark.parametrize("mode", ["cloud", "sync"])
def test_a_killed_process_is_made_whole(server: SwanlabServer, tmp_path: Path, mode: str) -> None:
    """Killed after a part was uploaded and a part was not, the successor brings the rest, and nothing twice."""
    sampler = Sampler()
    backend = open_backend(server, mode, tmp_path)
    deliver(backend, [sampler.started(), sampler.metrics(1), sampler.metrics(2)])
    state = json.loads(json.dumps(backend.checkpoint()))
    until(lambda: points(server) == expected(1, 2))
    backend.close()
    rest = [sampler.metrics(3), sampler.metrics(4)]
    deliver_and_die(BACKEND, config(server, mode), tmp_path, state, rest)
    successor = open_backend(server, mode, tmp_path, state)
    assert deliver(successor, [*rest, sampler.metrics(5), sampler.finished()]) == []
    successor.checkpoint()
    successor.close()
    assert points(server) == expected(1, 2, 3, 4, 5)
    (run,) = server.experiments.values()
    assert run.states[-1] == "FINISHED"


def test_steps_from_before_a_restart_arrive_when_synced(server: SwanlabServer, tmp_path: Path) -> None:
    """A step below those of the process before is not lost: an upload lifts the server's guard for what is new."""
    sampler = Sampler()
    backend = open_backend(server, "sync", tmp_path)
    deliver(backend, [sampler.started(), sampler.metrics(8)])
    state = json.loads(json.dumps(backend.checkpoint()))
    until(lambda: points(server) == expected(8))
    backend.close()
    successor = open_backend(server, "sync", tmp_path, state)
    deliver(successor, [sampler.metrics(6), sampler.finished()])
    successor.checkpoint()
    successor.close()
    assert points(server) == expected(6, 8)


def test_a_live_run_says_what_its_client_does_not_take(server: SwanlabServer, tmp_path: Path) -> None:
    """Live, a step below the server's last one is refused after a restart; it is counted by name."""
    sampler = Sampler()
    backend = open_backend(server, "cloud", tmp_path)
    deliver(backend, [sampler.started(), sampler.metrics(8)])
    state = json.loads(json.dumps(backend.checkpoint()))
    until(lambda: points(server) == expected(8))
    backend.close()
    successor = open_backend(server, "cloud", tmp_path, state)
    deliver(successor, [sampler.metrics(6)])
    state = successor.checkpoint()
    successor.close()
    assert points(server) == expected(8)
    assert state["left_out"] == {"not taken by SwanLab's client": {"run-1": 3}}


def test_an_unreachable_server_is_not_called_a_wrong_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where nothing answers, the error says so and names the address; a refused key is named as such."""
    monkeypatch.setenv("SWANLAB_API_KEY", KEY)
    with swanlab_server() as server:
        server.refuse_key = True
        backend = open_backend(server, "cloud", tmp_path)
        with pytest.raises(UnavailableError, match=r"refuses the API key \(401\): set SWANLAB_API_KEY"):
            backend.write([Sampler().started()])
        backend.close()
    backend = open_backend(server, "cloud", tmp_path)
    with pytest.raises(UnavailableError, match=f"{server.host} cannot be reached"):
        backend.write([Sampler().started()])
    backend.close()


def test_a_missing_key_is_named(server: SwanlabServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a key nothing is asked on a terminal; the error says where a key goes."""
    monkeypatch.delenv("SWANLAB_API_KEY")
    backend = open_backend(server, "cloud", tmp_path)
    with pytest.raises(UnavailableError, match="set SWANLAB_API_KEY or"):
        backend.write([Sampler().started()])
    backend.close()


def test_the_end_of_a_run_waits_for_its_server_within_bounds(server: SwanlabServer, tmp_path: Path) -> None:
    """The library would wait for ever for a server that fails; the upload is ended in time, and brings everything later."""
    sampler = Sampler()
    backend = open_backend(server, "sync", tmp_path, finish_timeout=8, sync_interval=3600)
    deliver(backend, [sampler.started(), sampler.metrics(1)])
    backend.checkpoint()
    server.fail = "/house/metrics"
    with pytest.raises(UnavailableError, match=r"takes longer than finish_timeout|failed"):
        deliver(backend, [sampler.metrics(2), sampler.finished()])
    server.fail = None
    deliver_at_last(backend, [sampler.metrics(2), sampler.finished()])
    backend.checkpoint()
    backend.close()
    assert points(server) == expected(1, 2)
    (run,) = server.experiments.values()
    assert run.states[-1] == "FINISHED"


def test_the_client_asks_what_it_asked_when_the_stand_in_was_built(server: SwanlabServer, tmp_path: Path) -> None:
    """The requests of today's client have the paths and keys of the captured ones."""
    sampler = Sampler()
    for mode in ("cloud", "sync"):
        backend = open_backend(server, mode, tmp_path)
        deliver(backend, sampler.everything())
        backend.checkpoint()
        backend.close()
    assert shape(server.requests) == json.loads(TRAFFIC.read_text(encoding="utf-8"))
