"""The shipper as a process: started once, detached, killed at any moment, and nothing is lost."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from rollscope import vocabulary as v
from rollscope.shipper import ensure_running
from tests.waiting import until

from .peers import Answer, grpc_peer, http_peer, values
from .processes import environment, kill, no_shipper_left, run_shipper, shipper_pid, shippers, writer
from .producers import open_log, span_end, write

pytestmark = pytest.mark.reliability
START = "import sys; from rollscope.shipper import ensure_running; ensure_running(sys.argv[1])"


def start(directory: Path, env: dict[str, str]) -> None:
    """Ask for the shipper until it is up, as a recorder's keeper does."""

    def is_up() -> bool:
        ensure_running(directory, env)
        return shipper_pid(directory) is not None

    until(is_up)


def test_many_processes_start_one_shipper_that_outlives_them(tmp_path: Path) -> None:
    """Twelve processes at once: one shipper, which holds no pipe of theirs, delivers after they are gone, and ends by itself."""
    journal = open_log(tmp_path)
    write(journal, *(span_end() for _ in range(5)))
    with http_peer() as peer, no_shipper_left(tmp_path):
        env = environment(peer.url)
        starters = [subprocess.Popen([sys.executable, "-c", START, str(tmp_path)], env=env, stdout=subprocess.PIPE) for _ in range(12)]
        for starter in starters:
            assert starter.communicate(timeout=60) == (b"", None)
            assert starter.returncode == 0
        until(lambda: shipper_pid(tmp_path))
        assert len(shippers(tmp_path)) == 1
        until(lambda: len(peer.spans()) == 5)
        ensure_running(tmp_path, env)
        journal.close()
        until(lambda: not shippers(tmp_path))
    assert peer.sequences("a" * 16) == [1, 2, 3, 4, 5]
    assert json.loads((tmp_path / "shipper.json").read_text())["state"] == "ended"


@pytest.mark.parametrize("peer_of", [http_peer, grpc_peer])
def test_random_kills_lose_nothing(peer_of: Any, tmp_path: Path) -> None:
    """The shipper is killed again and again while three processes write: every record arrives, and every final heartbeat."""
    chance = random.Random(20)
    names = [character * 16 for character in "abc"]
    with peer_of() as peer, no_shipper_left(tmp_path):
        env = environment(peer.url)
        with writer(tmp_path, names[0], 40, 0.05), writer(tmp_path, names[1], 400, 0.005), writer(tmp_path, names[2], 20, 0.1):
            for _ in range(6):
                start(tmp_path, env)
                time.sleep(chance.uniform(0.0, 0.4))
                kill(shippers(tmp_path))
        start(tmp_path, env)
        until(lambda: not list((tmp_path / "producers").iterdir()), 60)
        until(lambda: not shippers(tmp_path))
    finals = [final for final in (values(r.attributes) for r in peer.logs(v.EVENT_HEARTBEAT)) if final[v.FINAL]]
    assert len(finals) >= len(names)
    for name in names:
        taken = set(peer.sequences(name))
        assert taken == set(range(1, len(taken) + 1))
        assert taken
    assert {final[v.LAST_SEQUENCE] for final in finals} == {len(set(peer.sequences(name))) for name in names}


def test_a_killed_producer_loses_nothing_it_recorded(tmp_path: Path) -> None:
    """Killed right after its calls returned: its records arrive, its open span is closed as aborted, the heartbeat says abnormal."""
    with http_peer() as peer, no_shipper_left(tmp_path):
        with writer(tmp_path, "a" * 16, 20, hang=True) as process:
            assert process.stdout is not None
            written = 0
            for line in process.stdout:
                if line == "open\n":
                    break
                written = int(line)
            process.kill()
        ensure_running(tmp_path, environment(peer.url))
        until(lambda: not list((tmp_path / "producers").iterdir()))
        until(lambda: not shippers(tmp_path))
    assert set(peer.sequences("a" * 16)) == set(range(1, written + 1))
    (aborted,) = [span for span in peer.spans() if values(span.attributes).get(v.ABORTED)]
    assert aborted.name == "left open"
    assert values(peer.logs(v.EVENT_HEARTBEAT)[-1].attributes)[v.ABNORMAL]


def test_sigterm_drains_and_ends(tmp_path: Path) -> None:
    """Told to end, the shipper sends what is there and exits with 0, also while producers live."""
    journal = open_log(tmp_path)
    with http_peer() as peer:
        command = [sys.executable, "-m", "rollscope.shipper", str(tmp_path)]
        shipper = subprocess.Popen(command, env=environment(peer.url))
        until(lambda: shipper_pid(tmp_path))
        write(journal, *(span_end() for _ in range(500)))
        shipper.send_signal(signal.SIGTERM)
        assert shipper.wait(20) == 0
        assert len(peer.spans()) == 500
    journal.close()


def test_sigterm_does_not_wait_for_an_absent_peer(tmp_path: Path) -> None:
    """With nobody to send to, the end comes at once, and the journal keeps everything."""
    journal = open_log(tmp_path)
    write(journal, span_end())
    with http_peer(lambda received: Answer(503)) as peer:
        shipper = subprocess.Popen([sys.executable, "-m", "rollscope.shipper", str(tmp_path)], env=environment(peer.url))
        until(lambda: peer.refused)
        shipper.send_signal(signal.SIGTERM)
        assert shipper.wait(20) == 0
    assert (tmp_path / "producers" / "aaaaaaaaaaaaaaaa").is_dir()
    journal.close()


def test_once_says_whether_all_was_acknowledged(tmp_path: Path) -> None:
    """`--once` exits with 0 when everything is delivered, with 1 when it is not."""
    journal = open_log(tmp_path)
    write(journal, span_end())
    journal.close()
    with http_peer() as peer:
        peer.script = lambda received: Answer(503)
        assert run_shipper(tmp_path, "--once", "--timeout", "0.5", env=environment(peer.url)).returncode == 1
        peer.script = None
        assert run_shipper(tmp_path, "--once", env=environment(peer.url)).returncode == 0
    assert peer.sequences("a" * 16) == [1]


@pytest.mark.parametrize(
    ("endpoint", "more", "message"),
    [
        ("ftp://example", {}, "endpoint is not a URL"),
        ("https://127.0.0.1:1", {"OTEL_EXPORTER_OTLP_CERTIFICATE": "/missing.pem"}, "/missing.pem"),
    ],
)
def test_what_cannot_work_is_told_at_start(endpoint: str, more: dict[str, str], message: str, tmp_path: Path) -> None:
    """Exit code 2, the reason on standard error, in the log and in the status."""
    ended = run_shipper(tmp_path, "--once", env=environment(endpoint, **more))
    assert ended.returncode == 2
    assert message in ended.stderr
    assert message in (tmp_path / "shipper.log").read_text()
    status = json.loads((tmp_path / "shipper.json").read_text())
    assert (status["state"], message in status["error"]) == ("failed", True)


def test_a_user_file_named_like_a_module_does_no_harm(tmp_path: Path) -> None:
    """A `json.py` in the trainer's working directory is not taken for ours."""
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')\n")
    folder = tmp_path / "journal"
    journal = open_log(folder)
    write(journal, span_end())
    journal.close()
    with http_peer() as peer, no_shipper_left(folder):
        program = f"import sys; sys.path[:] = filter(None, sys.path); {START}"
        subprocess.run([sys.executable, "-c", program, str(folder)], env=environment(peer.url), cwd=tmp_path, check=True)
        until(lambda: peer.spans())
        until(lambda: not shippers(folder))
