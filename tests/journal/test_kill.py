"""A call that returned is kept when the process is killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from rollscope.journal import Entry, Journal, LogReader

ReadAll = Callable[..., list[Entry]]
Run = Callable[[Path, str], "subprocess.Popen[str]"]


def test_killed_right_after_the_call(tmp_path: Path, run_python: Run, read_all: ReadAll) -> None:
    """Every record, count and number of a process that killed itself after its last append is there."""
    program = """
        journal = Journal(folder, meta={"producer": "p"}, segment_bytes=16384)
        for n in range(1, 1001):
            journal.append(b"%d " % n * 20, n % 3)
        journal.count("dropped", "because")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with run_python(tmp_path, program) as process:
        process.wait()
    reader = LogReader(tmp_path)

    assert process.returncode == -signal.SIGKILL
    assert not reader.alive()
    assert sorted(entry.sequence for entry in read_all(reader, acknowledge=True)) == list(range(1, 1001))
    assert reader.counters() == (1000, {"because": 1}, {}, {}, 0)
    assert reader.drained()
    assert reader.damaged == {}


@pytest.mark.parametrize("seed", range(6))
def test_killed_at_any_moment(tmp_path: Path, run_python: Run, read_all: ReadAll, seed: int) -> None:
    """Killed in the middle of anything, what was reported as written is there, whole, without a gap in its numbers."""
    program = """
        journal = Journal(folder, meta={}, segment_bytes=8192)
        def work(lane):
            n = 0
            while True:
                n = journal.append(b"x" * (n % 900 + 1), lane)
                os.write(1, b"%d\\n" % n)
        for lane in (0, 1, 2):
            threading.Thread(target=work, args=(lane,)).start()
    """
    with run_python(tmp_path, program) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(random.Random(seed).uniform(0.001, 0.05))
        process.kill()
        reported = [int(line) for line in process.stdout.read().splitlines()]
    reader = LogReader(tmp_path)
    entries = read_all(reader, acknowledge=True)

    sequences = sorted(entry.sequence for entry in entries)
    assert sequences == list(range(1, len(sequences) + 1))
    assert set(reported) <= set(sequences)
    assert reader.counters().last_sequence in (len(sequences), len(sequences) - 1)
    assert set(reader.damaged) <= {"torn"}  # of a call that had not returned
    assert reader.drained()


def test_interrupter_killed_right_after(tmp_path: Path, run_python: Run, read_all: ReadAll) -> None:
    """A record written by a signal handler is kept as well, though the append below it never returned."""
    program = """
        journal = Journal(folder, meta={})
        def append():
            current = journal._box.pop()
            self = journal
            journal._append_aside(b"from the handler", 0, None)
            os.kill(os.getpid(), signal.SIGKILL)
        append()
    """
    with run_python(tmp_path, program) as process:
        process.wait()

    assert [entry.payload for entry in read_all(LogReader(tmp_path))] == [b"from the handler"]


def test_counters_after_evictions_and_kill(tmp_path: Path, run_python: Run, read_all: ReadAll) -> None:
    """The last sequence is right after a kill, also when the records that carried it were pushed out."""
    program = """
        journal = Journal(folder, meta={}, limit=256 << 10, segment_bytes=16384)
        for n in range(200):
            journal.append(b"t" * 1000, 2)
        for n in range(240):
            journal.append(b"r" * 1000, 0)
        print(journal.last_sequence, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    with run_python(tmp_path, program) as process:
        assert process.stdout is not None
        last = int(process.stdout.readline())
        process.wait()
    reader = LogReader(tmp_path)
    counters = reader.counters()
    entries = read_all(reader)

    assert counters.last_sequence == last
    assert counters.dropped["evicted tokens"] == last - len(entries)
    assert counters.dropped["refused tokens: byte limit"] > 0


def test_restart_after_kill(tmp_path: Path, run_python: Run, read_all: ReadAll) -> None:
    """A writer that takes over from a killed one goes on behind it, and a reader passes from one to the other."""
    reader, seen = LogReader(tmp_path), 0
    program = """
        journal = Journal(folder, meta={}, segment_bytes=8192)
        for _ in range(30):
            journal.append(b"x" * 900)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    for _ in range(3):
        with run_python(tmp_path, program) as process:
            process.wait()
        seen += len(read_all(reader, acknowledge=True))
    journal = Journal(tmp_path, meta={})

    assert journal.append(b"last") == 91
    assert [entry.sequence for entry in read_all(reader)] == [91]
    assert (seen, reader.damaged) == (90, {})
    assert os.path.exists(tmp_path / "alive")
    journal.close()
