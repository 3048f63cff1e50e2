"""Appending, rotating, reopening."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope.journal import Entry, Journal, JournalError, LogReader
from rollscope.journal._format import MAX_RECORD

ReadAll = Callable[..., list[Entry]]

appends = st.lists(st.tuples(st.binary(min_size=1, max_size=9000), st.integers(0, 2)), max_size=40)


@given(items=appends, segment_bytes=st.sampled_from([4096, 8192, 65536]), max_bytes=st.sampled_from([1, 500, 1 << 20]))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_round_trip(read_all: ReadAll, items: list[tuple[bytes, int]], segment_bytes: int, max_bytes: int) -> None:
    """Whatever is appended comes back per lane in order, over any number of segments and with any batch size."""
    with tempfile.TemporaryDirectory() as folder:
        journal = Journal(Path(folder), meta={}, segment_bytes=segment_bytes)
        sequences = [journal.append(payload, lane) for payload, lane in items]
        reader = LogReader(Path(folder))

        for lane in (0, 1, 2):
            entries = read_all(reader, lane, max_bytes=max_bytes)
            expected = [(n, item[0]) for n, item in zip(sequences, items, strict=True) if item[1] == lane]
            assert [(entry.sequence, entry.payload) for entry in entries] == expected
        assert sequences == list(range(1, len(items) + 1))
        assert reader.counters().last_sequence == journal.last_sequence == len(items)
        assert reader.damaged == {}
        journal.close()


def test_meta_is_in_every_segment(tmp_path: Path, read_all: ReadAll) -> None:
    """A log says whose it is, even when only its last segment is left."""
    journal = Journal(tmp_path, meta={"producer": "ab" * 8, "resource": {"host": "n1", "rank": 3}}, segment_bytes=4096)
    for _ in range(100):
        journal.append(b"x" * 300)
    read_all(LogReader(tmp_path), acknowledge=True)

    assert LogReader(tmp_path).meta() == {"producer": "ab" * 8, "resource": {"host": "n1", "rank": 3}}
    journal.close()


def test_large_record_gets_a_segment_of_its_size(tmp_path: Path) -> None:
    """A record far larger than a segment is kept whole, between its neighbours."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    large = bytes(range(256)) * (80 << 10)
    assert [journal.append(payload, 2) for payload in (b"before", large, b"behind")] == [1, 2, 3]

    reader = LogReader(tmp_path)

    assert [entry.payload for _ in range(3) for entry in reader.read(2, 1)] == [b"before", large, b"behind"]
    journal.close()


def test_impossible_records_are_refused_and_counted(tmp_path: Path) -> None:
    """An empty record and one above the format's limit are refused, and use no number."""
    journal = Journal(tmp_path, meta={})

    assert journal.append(b"") == -1
    assert journal.append(bytes(MAX_RECORD + 1), 2) == -1
    assert journal.append(b"fine") == 1
    assert journal.counters().dropped == {"refused spans: empty record": 1, "refused tokens: record too large": 1}
    journal.close()


def test_files_are_made_when_needed(tmp_path: Path) -> None:
    """A lane that nobody uses takes no disk."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"one", 0)

    assert [path.name for path in tmp_path.glob("*.seg")] == ["p0-00000001.seg"]
    journal.close()


def test_finished_segments_are_cut(tmp_path: Path) -> None:
    """A closed log is as large as what it holds, not as what it reserved."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"one", 0)
    assert (tmp_path / "p0-00000001.seg").stat().st_size == 4 << 20
    journal.close()

    assert (tmp_path / "p0-00000001.seg").stat().st_size < 100


def test_closed_journal_refuses(tmp_path: Path) -> None:
    """After close a record is refused without an error, and closing again is nothing."""
    journal = Journal(tmp_path, meta={})
    journal.close()
    journal.close()

    assert journal.append(b"late") == -1
    journal.count("dropped", "late")


def test_one_writer_a_folder(tmp_path: Path) -> None:
    """A second writer is told so."""
    journal = Journal(tmp_path, meta={})

    with pytest.raises(JournalError, match="written by another process"):
        Journal(tmp_path, meta={})
    journal.close()


def test_unusable_folder_names_the_cure(tmp_path: Path) -> None:
    """A folder that cannot be made is an error with cause, value and cure."""
    (tmp_path / "file").write_text("")

    with pytest.raises(JournalError, match="ROLLSCOPE_DIR"):
        Journal(tmp_path / "file" / "log", meta={})


def test_meta_must_be_plain(tmp_path: Path) -> None:
    """Meta that cannot be written down is an error at once."""
    with pytest.raises(JournalError, match="plain data"):
        Journal(tmp_path, meta={"what": object()})


@given(rounds=st.lists(st.integers(0, 30), min_size=1, max_size=5), read_between=st.booleans())
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reopened_log_goes_on(read_all: ReadAll, rounds: list[int], read_between: bool) -> None:
    """A log opened again continues its numbers, of records and of segments, also when all segments had been read and deleted."""
    with tempfile.TemporaryDirectory() as folder:
        got, written = [], 0
        for count in rounds:
            journal = Journal(Path(folder), meta={}, segment_bytes=4096)
            for _ in range(count):
                written += 1
                assert journal.append(str(written).encode() * 50) == written
            journal.close()
            if read_between:
                got += read_all(LogReader(Path(folder)), 1, acknowledge=True)
        reader = LogReader(Path(folder))
        got += read_all(reader, 1, acknowledge=True)

        assert [entry.sequence for entry in got] == list(range(1, written + 1))
        assert reader.damaged == {}
        assert reader.drained()


def test_space_is_filled_in_growing_steps(tmp_path: Path) -> None:
    """From 128 KiB to 1 MiB, and to the end of the segment at last: little for who records little, seldom for who records much."""
    journal = Journal(tmp_path, meta={}, segment_bytes=3 << 20)
    rooms = []
    for _ in range(29):
        journal.append(bytes(100_000), 1)
        segment = journal._current[1]
        if not rooms or segment.room != rooms[-1]:
            rooms.append(segment.room)
    journal.close()
    assert [room << 3 >> 10 for room in rooms] == [128, 256, 512, 1024, 2048, 3071]
