"""Reading beside the writer, acknowledging, and what was lost."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope.journal import Entry, Journal, LogReader, Position, _cursor, list_logs

ReadAll = Callable[..., list[Entry]]


def test_reads_while_written(tmp_path: Path) -> None:
    """A reader beside the writer sees every record once, in order, and nothing that is not finished."""
    count = 20_000
    journal = Journal(tmp_path, meta={}, segment_bytes=65536)
    writer = threading.Thread(target=lambda: [journal.append(f"{n}".encode() * (n % 40 + 1)) for n in range(1, count + 1)])
    reader, seen = LogReader(tmp_path), []
    writer.start()
    while len(seen) < count:
        seen += reader.read(1, 10_000)
    writer.join()

    assert [entry.sequence for entry in seen] == list(range(1, count + 1))
    assert all(entry.payload == f"{entry.sequence}".encode() * (entry.sequence % 40 + 1) for entry in seen)
    assert reader.damaged == {}
    journal.close()


def test_a_segment_that_was_just_being_made_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its header was not there at the first look; at the second its writer has gone on to the next segment."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    for n in range(20):
        journal.append(bytes([n]) * 500)
    answers = iter([None])
    real = _cursor.read_header
    monkeypatch.setattr(_cursor, "read_header", lambda fd: next(answers, real(fd)))
    reader, seen = LogReader(tmp_path), []
    while entries := reader.read(1, 1000):
        seen += entries
    assert [entry.sequence for entry in seen] == list(range(1, 21))
    assert reader.damaged == {}
    journal.close()


def test_acknowledged_segments_are_deleted(tmp_path: Path, read_all: ReadAll) -> None:
    """What was acknowledged is gone from disk and is not read again; the rest is."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    for n in range(100):
        journal.append(bytes([n]) * 500)
    reader = LogReader(tmp_path)
    first = reader.read(1, 20_000)
    reader.acknowledge(1, first[-1].end, len(first))

    again = LogReader(tmp_path)
    assert [entry.sequence for entry in read_all(again, 1)] == list(range(len(first) + 1, 101))
    assert again.acknowledged() == len(first)
    assert not (tmp_path / "p1-00000001.seg").exists()
    assert again.damaged == {}
    journal.close()


@given(sizes=st.lists(st.integers(1, 3000), max_size=30), steps=st.lists(st.integers(1, 9000), max_size=20), close=st.booleans())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_drained_means_drained(tmp_path_factory: object, sizes: list[int], steps: list[int], close: bool) -> None:
    """Nothing is pending exactly when everything written was acknowledged, whoever asks."""
    folder = tmp_path_factory.mktemp("log")  # type: ignore[attr-defined]
    journal = Journal(folder, meta={}, segment_bytes=4096)
    reader = LogReader(folder)
    assert reader.drained()
    for size in sizes:
        journal.append(b"x" * size)
    if close:
        journal.close()
    acknowledged = 0
    for step in steps:
        if entries := reader.read(1, step):
            reader.acknowledge(1, entries[-1].end, len(entries))
            acknowledged += len(entries)
        assert reader.drained() == (acknowledged == len(sizes))
        assert LogReader(folder).drained() == (acknowledged == len(sizes))
        assert (reader.pending_bytes() == 0) == reader.drained()
    assert reader.acknowledged() == acknowledged
    journal.close()


def test_positions_of_the_caller_win(tmp_path: Path) -> None:
    """A caller that keeps positions itself starts exactly behind its last entry."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    for n in range(30):
        journal.append(f"{n}".encode() * 100)
    entries = LogReader(tmp_path).read(1, 1 << 20)

    for entry in entries[:-1]:
        place = Position(*list(entry.end))
        assert LogReader(tmp_path, {1: place}).read(1, 1)[0].sequence == entry.sequence + 1
    journal.close()


def test_position_in_an_acknowledged_segment_is_no_loss(tmp_path: Path, read_all: ReadAll) -> None:
    """Starting from a place whose segment was deleted because it was acknowledged goes on behind it, without a complaint."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    for _ in range(20):
        journal.append(b"x" * 1000)
    reader = LogReader(tmp_path)
    entries = read_all(reader, 1, acknowledge=True)
    journal.append(b"next")

    late = LogReader(tmp_path, {1: entries[0].end})
    assert late.read(1, 1 << 20)[-1].payload == b"next"
    assert late.damaged == {}
    journal.close()


def test_removed_segments_are_counted(tmp_path: Path, read_all: ReadAll) -> None:
    """A segment that was pushed out, before or while it was read, is counted and passed over."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    for n in range(60):
        journal.append(bytes([n]) * 900)
    reader = LogReader(tmp_path)
    first = reader.read(1, 1)
    (tmp_path / "p1-00000001.seg").unlink()
    (tmp_path / "p1-00000003.seg").unlink()

    rest = read_all(reader, 1, max_bytes=900)

    assert [entry.sequence for entry in first + rest] == [1, 5, 6, 7, 8, *range(13, 61)]
    assert reader.damaged == {"segment removed": 2}
    journal.close()


def test_writer_alive(tmp_path: Path) -> None:
    """A reader knows whether the writer still holds its log."""
    journal = Journal(tmp_path / "log", meta={})
    assert LogReader(tmp_path / "log").alive()
    journal.close()

    assert not LogReader(tmp_path / "log").alive()
    assert not LogReader(tmp_path / "none").alive()


def test_lost_acknowledgements_repeat(tmp_path: Path) -> None:
    """A damaged `acked` file costs repetitions, never records."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"one")
    reader = LogReader(tmp_path)
    reader.acknowledge(1, reader.read(1, 100)[-1].end, 1)
    assert LogReader(tmp_path).read(1, 100) == []
    acked = (tmp_path / "acked").read_bytes()
    for bit in range(len(acked) * 8 - 8):
        broken = bytearray(acked)
        broken[bit // 8] ^= 1 << bit % 8
        (tmp_path / "acked").write_bytes(broken)
        assert [entry.payload for entry in LogReader(tmp_path).read(1, 100)] in ([b"one"], [])
    (tmp_path / "acked").write_bytes(b"")

    assert [entry.payload for entry in LogReader(tmp_path).read(1, 100)] == [b"one"]
    journal.close()


def test_nothing_there(tmp_path: Path) -> None:
    """A folder without a log reads as an empty one."""
    reader = LogReader(tmp_path / "none")

    assert (reader.read(1, 100), reader.meta(), reader.drained(), reader.counters()) == ([], {}, True, (0, {}, {}, {}, 0))
    assert list_logs(tmp_path / "none") == []


def test_list_logs(tmp_path: Path) -> None:
    """Logs below a folder are found, other folders are not taken for logs."""
    journals = [Journal(tmp_path / name, meta={}) for name in ("b", "a")]
    (tmp_path / "c").mkdir()

    assert list_logs(tmp_path) == [tmp_path / "a", tmp_path / "b"]
    for journal in journals:
        journal.close()
