"""Threads, forks, signals and finalisers."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType

import pytest

from rollscope.checksum import checksum
from rollscope.journal import Entry, Journal, LogReader, Place

ReadAll = Callable[..., list[Entry]]


def test_threads(tmp_path: Path, read_all: ReadAll) -> None:
    """Many threads over all lanes: every record once, numbers without a gap, each thread's records in its order."""
    journal = Journal(tmp_path, meta={}, segment_bytes=16384)
    threads, count = 8, 1500

    def work(thread: int) -> None:
        for n in range(count):
            lane = (n + thread) % 3
            assert journal.append(f"{thread} {lane} {n} ".encode() * (n % 30 + 1), lane) > 0

    workers = [threading.Thread(target=work, args=(thread,)) for thread in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    reader = LogReader(tmp_path)
    by_lane = {lane: read_all(reader, lane) for lane in (0, 1, 2)}

    assert sorted(entry.sequence for entries in by_lane.values() for entry in entries) == list(range(1, threads * count + 1))
    for lane, entries in by_lane.items():
        order: dict[int, list[int]] = {}
        for entry in entries:
            thread, in_lane, n = map(int, entry.payload.split()[:3])
            assert in_lane == lane
            order.setdefault(thread, []).append(n)
        assert all(numbers == sorted(numbers) for numbers in order.values())
    assert reader.damaged == {}
    journal.close()


def test_signal_storm(tmp_path: Path, read_all: ReadAll) -> None:
    """A signal handler that records while it interrupts the recording of its own thread: nothing lost, doubled or stuck."""
    journal = Journal(tmp_path, meta={}, segment_bytes=65536)
    from_handler: list[int] = []

    def handler(*_: object) -> None:
        from_handler.append(journal.append(b"handler " * 20, 1 + len(from_handler) % 2))
        journal.count("truncated", "in handler")

    stop, main = threading.Event(), threading.get_ident()

    def storm() -> None:
        while not stop.is_set():
            sent = len(from_handler)
            signal.pthread_kill(main, signal.SIGUSR1)
            while len(from_handler) == sent and not stop.is_set():
                time.sleep(0.00001)

    previous = signal.signal(signal.SIGUSR1, handler)
    thread, plain = threading.Thread(target=storm), []
    thread.start()
    try:
        while len(from_handler) < 1000:
            plain.append(journal.append(b"plain " * 30))
            journal.count("truncated", "in line")
    finally:
        stop.set()
        thread.join()
        time.sleep(0.01)
        signal.signal(signal.SIGUSR1, previous)
    reader = LogReader(tmp_path)
    entries = read_all(reader)

    assert sorted(plain + from_handler) == sorted(entry.sequence for entry in entries) == list(range(1, len(entries) + 1))
    assert {entry.payload for entry in entries} == {b"handler " * 20, b"plain " * 30}
    assert journal.counters().truncated == {"in handler": len(from_handler), "in line": len(plain)}
    assert reader.damaged == {}
    journal.close()


def interrupt_every_line(journal: Journal, action: Callable[[], object], over: Place | None = None) -> list[int]:
    """Append once, the end of `over`, with `action` before each line of it, as a signal handler might come; returns the lines."""
    lines: list[int] = []

    def on_line(frame: FrameType, event: str, _: object) -> object:
        if event == "line":
            lines.append(frame.f_lineno)
            sys.settrace(None)
            action()
            sys.settrace(on_call)
        return on_line

    def on_call(frame: FrameType, event: str, _: object) -> object:
        return on_line if frame.f_code is Journal.append.__code__ and not lines else None

    before = sys.gettrace()
    sys.settrace(on_call)
    try:
        journal.append(b"interrupted", 1, over)
    finally:
        sys.settrace(before)
    return lines


def test_interrupted_at_every_line(tmp_path: Path, read_all: ReadAll) -> None:
    """Whatever line of an append is interrupted by another one in the same thread, both are recorded once, in the right lane."""
    journal = Journal(tmp_path, meta={"producer": "p"}, segment_bytes=65536)
    journal.append(b"before")
    inside: list[int] = []
    lines = interrupt_every_line(journal, lambda: inside.append(journal.append(b"inside", 1 + len(inside) % 2)))
    place = journal.hold(b"began", checksum(b"began"))
    within = interrupt_every_line(journal, lambda: inside.append(journal.append(b"inside")), place)
    journal.append(b"behind")
    assert len(set(lines)) > 10
    assert set(within) - set(lines)
    assert list(tmp_path.glob("s*.seg"))
    reader = LogReader(tmp_path)

    entries = read_all(reader, 1, acknowledge=True)
    assert not reader.drained()
    entries += read_all(reader, 2, acknowledge=True)

    assert reader.drained()
    assert not list(tmp_path.glob("s*.seg"))
    assert sorted(entry.sequence for entry in entries) == list(range(1, journal.last_sequence + 1))
    payloads = Counter(entry.payload for entry in entries)
    expected = {b"before": 1, b"behind": 1, b"interrupted": 2, b"inside": len(inside)}
    assert payloads == expected
    assert {*inside} <= {entry.sequence for entry in entries if entry.payload == b"inside"}
    assert (reader.damaged, reader.held(), LogReader(tmp_path).read(1, 100)) == ({}, [], [])
    journal.close()


def test_an_interrupter_that_raises(tmp_path: Path, read_all: ReadAll) -> None:
    """An exception out of a signal handler (Ctrl-C) goes through an append and leaves a journal that works, without a hole."""
    journal = Journal(tmp_path, meta={})
    lines = len(interrupt_every_line(journal, bool))
    for stop in range(1, lines + 1):
        steps = iter(range(1, lines + 1))

        def raise_at(stop: int = stop, steps: Iterator[int] = steps) -> None:
            if next(steps) == stop:
                raise KeyboardInterrupt

        with contextlib.suppress(KeyboardInterrupt):
            interrupt_every_line(journal, raise_at)
        assert journal.append(b"next") > 0
    entries = read_all(LogReader(tmp_path))

    assert sum(entry.payload == b"next" for entry in entries) == lines
    assert len({entry.sequence for entry in entries}) == len(entries)
    journal.close()


@pytest.mark.parametrize("step", ["posix_fallocate", "pwritev", "scandir"])
def test_a_time_limit_that_runs_out_while_a_file_is_made(step: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`TimeoutError` is an `OSError`; that of a signal handler is the program's all the same, and the next record is taken."""

    def handler(number: int, frame: FrameType | None) -> None:
        raise TimeoutError("the reward function took too long")

    def interrupted(*_: object) -> None:
        signal.raise_signal(signal.SIGUSR1)

    journal = Journal(tmp_path, meta={}, limit=1 << 20, segment_bytes=16384)
    while step == "scandir" and journal.append(b"x" * 1000, 1) > 0:  # the folder is listed where there is no room
        pass
    monkeypatch.setattr(journal._lanes[1], "refused_until", 0.0)
    before = signal.signal(signal.SIGUSR1, handler)
    try:
        with monkeypatch.context() as patch:
            patch.setattr(os, step, interrupted)
            with pytest.raises(TimeoutError, match="too long"):
                journal.append(b"x" * 1000, 1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert journal.append(b"next", 0) > 0
    journal.close()


def test_threads_wait_for_one_that_was_stopped(tmp_path: Path, read_all: ReadAll) -> None:
    """An append finds the segments taken by another thread: it waits for them instead of writing aside."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"first")
    current = journal._box.pop()
    threading.Timer(0.005, journal._box.append, [current]).start()

    assert journal.append(b"second") == 2
    assert not list(tmp_path.glob("s*.seg"))
    assert [entry.payload for entry in read_all(LogReader(tmp_path))] == [b"first", b"second"]
    journal.close()


def test_finaliser(tmp_path: Path, read_all: ReadAll) -> None:
    """An object whose finaliser records, collected in the middle of anything, neither blocks nor spoils a record."""
    journal = Journal(tmp_path, meta={}, segment_bytes=16384)

    class Recorded:
        def __init__(self) -> None:
            self.cycle = self

        def __del__(self) -> None:
            journal.append(b"finalised")

    thresholds = gc.get_threshold()
    gc.set_threshold(3, 2, 2)
    try:
        for n in range(2000):
            Recorded()
            journal.append(f"{n}".encode() * 10)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    entries = read_all(LogReader(tmp_path))

    assert sorted(entry.sequence for entry in entries) == list(range(1, 4001))
    assert sum(entry.payload == b"finalised" for entry in entries) == 2000
    journal.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_fork_while_threads_record(tmp_path: Path, read_all: ReadAll) -> None:
    """A child forked at any moment never hangs and never touches the parent's log; a log of its own works."""
    journal = Journal(tmp_path / "parent", meta={}, segment_bytes=16384)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            journal.append(b"thread" * 30)
            journal.count("truncated", "thread")

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    codes = []
    for n in range(20):
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                signal.alarm(20)
                refused = journal.append(b"child") == -1
                journal.count("dropped", "child")
                own = Journal(tmp_path / f"child-{n}", meta={})
                code = 0 if refused and own.append(b"own") == 1 else 2
            finally:
                os._exit(code)
        codes.append(os.waitpid(pid, 0)[1])
    stop.set()
    for worker in workers:
        worker.join()

    assert codes == [0] * 20
    entries = read_all(LogReader(tmp_path / "parent"))
    assert [entry.sequence for entry in entries] == list(range(1, journal.last_sequence + 1))
    assert {entry.payload for entry in entries} == {b"thread" * 30}
    assert journal.counters().dropped == {}
    assert [entry.payload for n in range(20) for entry in read_all(LogReader(tmp_path / f"child-{n}"))] == [b"own"] * 20
    journal.close()


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_fork_in_a_signal_handler(tmp_path: Path, read_all: ReadAll) -> None:
    """A fork that interrupts an append at any line leaves the child with a refusal, not with the parent's memory."""
    journal = Journal(tmp_path, meta={})
    codes: list[int] = []
    parent = os.getpid()

    def fork() -> None:
        if os.getpid() == parent and (pid := os.fork()):
            codes.append(os.waitpid(pid, 0)[1])

    interrupt_every_line(journal, fork)
    if os.getpid() != parent:  # the interrupted append went on in the child
        os._exit(0 if journal.append(b"child") == -1 else 1)

    assert len(codes) > 10
    assert set(codes) == {0}
    assert journal.append(b"two") == 2
    assert [entry.payload for entry in read_all(LogReader(tmp_path))] == [b"interrupted", b"two"]
    journal.close()


def test_child_does_not_keep_the_parent_alive(tmp_path: Path, run_python: Callable[..., object]) -> None:
    """A dead writer is seen as dead though a child that it forked lives on, even one that knows nothing of hooks."""
    program = """
        import ctypes
        journal = Journal(folder, meta={})
        journal.append(b"one")
        child = ctypes.CDLL(None).fork()   # no hook runs: the child keeps the lock's descriptor
        if child == 0:
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    process = run_python(tmp_path, program)
    child = int(process.stdout.readline())  # type: ignore[attr-defined]
    process.wait()  # type: ignore[attr-defined]
    try:
        assert not LogReader(tmp_path).alive()
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()  # type: ignore[attr-defined]
