"""Tests of what flush and status say."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import rollscope.recorder as R
from rollscope.journal import LogReader
from rollscope.recorder import gate
from rollscope.recorder.opening import log_folder


def acknowledge(recorder: R.Recorder) -> None:
    """Do what a shipper does when its peer has taken everything."""
    reader = LogReader(log_folder(recorder.settings.directory, recorder.identity.producer))
    for lane in range(3):
        while entries := reader.read(lane, 1 << 20):
            reader.acknowledge(lane, entries[-1].end, sum(entry.sequence > 0 for entry in entries))
    reader.close()


def test_nothing_is_sent_without_a_shipper() -> None:
    """The result is the truth: everything is in the journal, nothing has been sent."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    recorder.event("e", {})
    result = R.flush(0.0)
    assert result == R.FlushResult(sent=0, journaled=2, dropped=0)
    assert not result


def test_what_was_acknowledged_is_sent() -> None:
    """Flush comes back as soon as the shipper has delivered all."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    with recorder.start_span("work"):
        pass
    acknowledge(recorder)
    assert R.flush(60) == R.FlushResult(sent=2, journaled=0, dropped=0)
    recorder.event("e", {})
    assert R.flush(0.01) == R.FlushResult(sent=2, journaled=1, dropped=0)


@pytest.mark.parametrize("timeout", [None, "x", float("nan"), -1.0])
def test_a_timeout_that_is_none_waits_for_nothing(timeout: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in the journal is told as ever."""
    monkeypatch.setattr(gate, "_strict", False)
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    recorder.event("one", {})
    assert R.flush(timeout).journaled == 2  # type: ignore[arg-type]


def test_without_a_run_there_is_nothing_to_flush() -> None:
    """True at once."""
    assert R.flush(60) == R.FlushResult(0, 0, 0)
    assert bool(R.flush()) is True


def test_a_journal_that_was_removed_has_sent_nothing() -> None:
    """Whoever deletes the folder under a running program is not told that all is well, also before the program has noticed."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    assert recorder.keeper is not None
    recorder.keeper.stop(10)
    recorder.event("e", {})
    shutil.rmtree(recorder.settings.directory)
    recorder.event("e", {})
    result = R.flush(0.0)
    assert result == R.FlushResult(sent=0, journaled=0, dropped=3)
    assert not result
    assert gate.counted()["journal_removed"] == 1


def test_refused_records_are_told(tmp_path: Path) -> None:
    """A full journal shows in flush and status, with the reason."""
    recorder = R.init("p", "e", circumstances=False, journal_limit="1MiB")
    assert recorder is not None
    for _ in range(200):
        recorder.tokens(b"t" * 16, b"s" * 8, role="output", ids=b"\0" * 40_000)
    result = R.flush(0.0)
    assert result.dropped > 0
    dropped = R.status()["dropped"]
    assert isinstance(dropped, dict)
    assert sum(dropped.values()) == result.dropped


def test_status_says_run_producer_and_what_waits() -> None:
    """For a program's own health page."""
    recorder = R.init("p", "e", circumstances=False)
    assert recorder is not None
    recorder.event("e", {"a": "\ud800"})
    status = R.status()
    assert status["recording"] is True
    assert status["run"] == recorder.identity.run.id
    assert status["producer"] == recorder.identity.producer
    assert (status["records"], status["sent"], status["waiting"]) == (2, 0, 2)
    assert status["waiting_bytes"]
    assert status["truncated"] == {"surrogate": 1}
    R.finish()
    assert R.status()["recording"] is False
