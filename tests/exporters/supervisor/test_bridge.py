"""The bridge as a whole, with its children."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.waiting import until

from .bridges import RunningBridge, ending, foreign_lines, log_lines

Start = Callable[..., RunningBridge]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start bridges; what still runs at the end is killed, and its children end with it."""
    made: list[RunningBridge] = []

    def new(*arguments: str, **env: str) -> RunningBridge:
        made.append(RunningBridge(tmp_path / "storage", *arguments, **env))
        return made[-1].start()

    yield new
    for bridge in made:
        bridge.kill()
        bridge.pool.clear()


def kill(pid: int | None) -> None:
    """Kill a child if it is there."""
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def test_what_comes_in_comes_out_and_it_ends_well(start: Start) -> None:
    """Accepted, delivered, shown; SIGTERM ends everything in order with exit code 0."""
    bridge = start()
    assert bridge.send(foreign_lines(50))
    until(lambda: len(bridge.counted()) == 50, say=bridge.log)
    assert bridge.counted() == [f"n{n}" for n in range(50)]
    status = bridge.get("/v1/status")
    assert status["received"]["requests"] == {"logs": 1}
    assert status["problems"] == {}
    (run,) = bridge.get("/v1/ledger")["runs"]
    assert run["name"] == "plain"
    assert bridge.pool.request("GET", f"{bridge.url}/v1/ledger?run=nowhere").status == 404
    page = bridge.pool.request("GET", f"{bridge.url}/metrics").data.decode()
    assert 'rl_bridge_requests{rl_bridge_signal="logs"} 1' in page
    assert 'rl_run_name="plain"' in page
    children = [child["pid"] for child in status["children"]]
    assert bridge.end() == 0
    assert not any(Path(f"/proc/{pid}").exists() for pid in children)
    assert not (bridge.storage / "bridge.json").exists()


def test_probes(start: Start) -> None:
    """Alive at once, ready when the pipeline runs; probes need no token, data does."""
    bridge = start(ROLLSCOPE__LISTEN__TOKEN="s3cret")
    get = lambda path, **headers: bridge.pool.request("GET", bridge.url + path, headers=headers).status  # noqa: E731
    assert get("/healthz") == 200
    until(lambda: get("/readyz") == 200)
    assert (get("/v1/status"), get("/v1/ledger"), get("/metrics")) == (401, 401, 401)
    assert get("/v1/status", authorization="Bearer s3cret") == 200


def test_it_delivers_what_it_has_when_it_is_told_to_end(start: Start) -> None:
    """For a bounded time: what was accepted a moment ago arrives."""
    bridge = start()
    until(lambda: bridge.child("counting").get("state") == "idle", say=bridge.log)
    for n in range(20):
        assert bridge.send(log_lines(n * 50, 50))
    assert bridge.end() == 0
    assert len(bridge.counted()) == 1000


def test_a_second_bridge_on_the_storage_is_told_so(start: Start) -> None:
    """It exits with a message and leaves the first alone."""
    first = start()
    command = [sys.executable, "-m", "rollscope_exporters.cli", "bridge", "--storage", str(first.storage), "--http", "127.0.0.1:0"]
    second = subprocess.run(command, env=first.env, capture_output=True, text=True, check=False)
    assert second.returncode == 3
    assert f"another bridge (pid {first.process.pid if first.process else ''}) already runs on" in second.stderr
    assert first.send(log_lines(0, 1))


def test_a_taken_port_ends_it_with_a_word(start: Start, tmp_path: Path) -> None:
    """And leaves nothing running."""
    first = start()
    port = first.url.rpartition(":")[2]
    command = [sys.executable, "-m", "rollscope_exporters.cli", "bridge", "--storage", str(tmp_path / "other"), "--grpc", "127.0.0.1:0"]
    second = subprocess.run([*command, "--http", f"127.0.0.1:{port}"], env=first.env, capture_output=True, text=True, check=False)
    assert second.returncode == 2
    assert f"listen.http 127.0.0.1:{port}: Address already in use; free the port or choose another" in second.stderr


def test_a_backend_that_hangs_is_killed_and_delays_no_other(start: Start) -> None:
    """The deadline ends it, again and again; then the record it hangs on is set aside, and the others arrive."""
    bridge = start(ROLLSCOPE__BACKENDS__COUNTING__HANG="n3", ROLLSCOPE__BACKENDS__JSONL="{}", ROLLSCOPE__WORKERS__DEADLINE="3")
    assert bridge.send(log_lines(0, 5))
    until(lambda: bridge.child("jsonl").get("position", 0) >= 5, say=bridge.log)
    until(lambda: bridge.child("counting").get("restarts", 0) >= 1, say=bridge.log)
    assert bridge.child("jsonl")["restarts"] == 0
    assert "counting made no progress for 3 s; killing it" in bridge.log()
    until(lambda: bridge.child("counting").get("position", 0) >= 5, say=bridge.log)
    assert bridge.counted() == [f"n{n}" for n in range(5) if n != 3]


def test_a_backend_out_of_reach_is_shown_and_catches_up(start: Start, tmp_path: Path) -> None:
    """The status says since when and why; nothing is lost."""
    away = tmp_path / "away"
    away.touch()
    bridge = start(ROLLSCOPE__BACKENDS__COUNTING__AWAY=str(away))
    assert bridge.send(log_lines(0, 5))
    until(lambda: "the counting house is closed" in bridge.child("counting").get("reason", ""), say=bridge.log)
    assert bridge.child("counting")["state"] == "waiting"
    away.unlink()
    until(lambda: len(bridge.counted()) == 5, say=bridge.log)


def test_runs_get_what_they_ask_for_where_nothing_is_configured(start: Start) -> None:
    """Backends are started when a run asks for them; one that is not there is named and disturbs no other."""
    bridge = start("--embedded", ROLLSCOPE__BACKENDS__COUNTING="")
    until(lambda: bridge.child("pipeline").get("state") == "idle")
    assert [child["name"] for child in bridge.get("/v1/status")["children"]] == ["pipeline"]
    assert bridge.send(log_lines(0, 5, ["counting", "jsnl"]))
    until(lambda: len(bridge.counted()) == 5, say=bridge.log)
    assert [child["name"] for child in bridge.get("/v1/status")["children"]] == ["counting", "pipeline"]
    assert "Did you mean 'jsonl'?" in bridge.get("/v1/status")["problems"]["jsnl"]


def test_a_run_that_wants_no_backend_gets_none(start: Start) -> None:
    """Also where some are configured."""
    bridge = start()
    assert bridge.send(log_lines(0, 5, []))
    until(lambda: bridge.child("counting").get("position", 0) >= 6, say=bridge.log)
    assert bridge.counted() == []


def test_a_backend_of_one_process_a_run_goes_when_its_run_is_delivered(start: Start) -> None:
    """It is started for the run and ended after it."""
    bridge = start(ROLLSCOPE__BACKENDS__COUNTING="", ROLLSCOPE__BACKENDS__COUNTING_PER_RUN="{}")
    assert bridge.send(log_lines(0, 5))
    until(lambda: bridge.child("counting_per_run/run1").get("position", 0) >= 6, say=bridge.log)
    assert bridge.send(ending(7))
    until(lambda: not bridge.child("counting_per_run/run1"), say=bridge.log)
    (counted,) = bridge.storage.glob("counted-*.txt")
    assert len(counted.read_text().splitlines()) == 7


def test_an_embedded_bridge_ends_when_nothing_came(start: Start) -> None:
    """It listens on free loopback ports and goes by itself."""
    bridge = start("--embedded")
    assert bridge.announced
    assert bridge.announced["grpc"].startswith("127.0.0.1:")
    assert bridge.process
    with bridge.process as process:
        assert process.wait(60) == 0
    assert "nothing left to do; ending" in bridge.log()


@pytest.mark.reliability
def test_killed_at_random_everything_arrives_once(start: Start) -> None:
    """Nine kills of bridge, pipeline and worker while a client sends until it is acknowledged: each line arrives once, in order."""
    rng, bridge, stop = random.Random(11), start(), threading.Event()
    sent = [0]

    def send() -> None:
        while not stop.is_set():
            body = log_lines(sent[0], 20)
            while not bridge.send(body):
                time.sleep(0.05)
            sent[0] += 20

    sender = threading.Thread(target=send)
    sender.start()
    for victim in rng.sample(["bridge", "pipeline", "counting"] * 3, 9):
        time.sleep(0.4 + rng.random())
        if victim == "bridge":
            bridge.kill()
            bridge.start()
        else:
            kill(bridge.child(victim).get("pid"))
    stop.set()
    sender.join(60)
    until(lambda: len(bridge.counted()) >= sent[0], 90, say=bridge.log)
    assert bridge.counted() == [f"n{n}" for n in range(sent[0])]
    assert sent[0] > 100


def test_a_bridge_without_its_storage_ends_and_says_so(start: Start, tmp_path: Path) -> None:
    """It takes nothing more; the next one on the same folder works, and the former's end leaves it alone."""
    bridge = start()
    assert bridge.send(log_lines(0, 10))
    until(lambda: len(bridge.counted()) == 10, say=bridge.log)
    address, children = bridge.url, [child["pid"] for child in bridge.get("/v1/status")["children"]]
    with (tmp_path / "storage" / "bridge.log").open() as said:
        os.kill(bridge.process.pid, signal.SIGSTOP)  # type: ignore[union-attr]  # so that the next one is there before it notices
        for child in children:  # they would write into the folder while it is removed
            kill(child)
        until(lambda: not any(Path(f"/proc/{child}/fd").exists() and os.listdir(f"/proc/{child}/fd") for child in children))
        shutil.rmtree(tmp_path / "storage")
        following = start()
        os.kill(bridge.process.pid, signal.SIGCONT)  # type: ignore[union-attr]
        code = bridge.process.wait(60)  # type: ignore[union-attr]
        assert (code, "was removed while the bridge runs" in said.read()) == (2, True)
    assert following.url not in ("http://127.0.0.1:1", address)
    assert following.send(log_lines(10, 10))
    until(lambda: len(following.counted()) == 10, say=following.log)
