"""Somebody removes the journal under a running program: it goes on in a new one, which says what lay in the old one."""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import rollscope.recorder as R
from rollscope.journal import LogReader, list_logs
from rollscope.recorder import Recorder, gate
from rollscope.records import Record

ReadBack = Callable[..., list[Record]]


def begin() -> tuple[Recorder, Path]:
    """A run and its log folder."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    assert recorder.keeper is not None
    recorder.keeper.stop(10)  # it would look by itself
    (folder,) = list_logs(recorder.settings.directory / "producers")
    return recorder, folder


@pytest.mark.parametrize("what", ["the log", "the node folder", "the storage"])
def test_it_goes_on_in_a_new_journal(what: str, caplog: pytest.LogCaptureFixture) -> None:
    """Numbers and counts go on; the highest number that lay in the old one is told, and a log line names the folder."""
    recorder, folder = begin()
    for _ in range(4):
        recorder.event("before", {})
    gate.report("dropped", "full", "as before")
    shutil.rmtree({"the log": folder, "the node folder": recorder.settings.directory, "the storage": recorder.settings.storage}[what])
    recorder.event("into the void", {})
    recorder.look_after_journal()
    recorder.event("after", {})
    reader = LogReader(folder)
    counters = reader.counters()
    assert [entry.sequence for entry in reader.read(1, 1 << 20)] == [7]
    assert (counters.last_sequence, counters.deleted, counters.dropped) == (7, 6, {"full": 1})
    assert reader.meta()["producer"] == recorder.identity.producer
    assert reader.alive()
    assert str(recorder.settings.directory) in caplog.text
    assert R.flush(0.0) == R.FlushResult(sent=0, journaled=1, dropped=7)


def test_closed_descriptors_are_no_deletion(tmp_path: Path) -> None:
    """Where the program closed the journal's descriptor and opened a file of its own, the same journal goes on, alive."""
    recorder, folder = begin()
    recorder.event("before", {})
    lock = recorder.journal._alive  # type: ignore[union-attr]
    lock._map.close()  # which would hold it
    with open(tmp_path / "theirs", "wb") as theirs:
        os.dup2(theirs.fileno(), number := lock._kept.fd)
    assert not LogReader(folder).alive()

    recorder.look_after_journal()
    recorder.event("after", {})
    assert LogReader(folder).alive()
    assert len(LogReader(folder).read(1, 1 << 20)) == 2
    assert LogReader(folder).counters().deleted == 0
    assert os.readlink(f"/proc/self/fd/{number}") == str(tmp_path / "theirs")
    os.close(number)


def test_it_may_happen_again() -> None:
    """Each time the next journal tells of all that went."""
    recorder, folder = begin()
    for _ in range(3):
        recorder.event("e", {})
        shutil.rmtree(folder)
        recorder.look_after_journal()
    assert LogReader(folder).counters().deleted == 4
    recorder.look_after_journal()
    assert LogReader(folder).counters().deleted == 4


def test_threads_that_record_meanwhile_lose_no_number() -> None:
    """What is written while the journal is exchanged is in the old one or in the new one, each number once."""
    recorder, folder = begin()
    stop = threading.Event()

    def record() -> None:
        while not stop.is_set():
            recorder.event("e", {})

    threads = [threading.Thread(target=record) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(5):
        shutil.rmtree(folder, ignore_errors=True)
        recorder.look_after_journal()
    stop.set()
    for thread in threads:
        thread.join()
    reader = LogReader(folder)
    deleted, last = reader.counters().deleted, reader.counters().last_sequence
    numbers = [entry.sequence for lane in range(3) for entry in reader.read(lane, 1 << 28)]
    assert len(numbers) == len(set(numbers))
    # A folder into which somebody writes may not be deleted whole: what was left of it is there, too.
    assert set(range(deleted + 1, last + 1)) <= set(numbers) <= set(range(1, last + 1))


def test_the_keeper_notices(run_program: Callable[..., object]) -> None:
    """Within two seconds, whoever runs the shipper."""
    done = run_program(
        """
    import shutil
    from rollscope.journal import LogReader, list_logs
    r = R.init('p', 'e', circumstances=False)
    r.event('e', {})
    shutil.rmtree(r.settings.directory)
    until = time.monotonic() + 20
    while not list_logs(r.settings.directory / 'producers') and time.monotonic() < until: time.sleep(0.05)
    r.event('e', {})
    (folder,) = list_logs(r.settings.directory / 'producers')
    print(LogReader(folder).counters().deleted, LogReader(folder).counters().last_sequence)
    """,
        ROLLSCOPE_SHIPPER="off",
    )
    assert done.stdout.split() == ["2", "3"]  # type: ignore[attr-defined]
