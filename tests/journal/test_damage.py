"""Torn tails, cut files, flipped bits: skipped, counted, and the rest is read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollscope.journal import Entry, Journal, LogReader

ReadAll = Callable[..., list[Entry]]
quick = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
PAYLOADS = [f"record {n} ".encode() * (n % 23 + 1) for n in range(1, 61)]


def write_log(folder: Path, *, close: bool) -> Journal:
    """Write the payloads into some segments."""
    journal = Journal(folder, meta={"producer": "p"}, segment_bytes=4096)
    for payload in PAYLOADS:
        journal.append(payload)
    if close:
        journal.close()
    return journal


def segments(folder: Path) -> list[Path]:
    """Segments of the span lane, oldest first."""
    return sorted(folder.glob("p1-*.seg"))


def assert_only_true_records(entries: list[Entry]) -> None:
    """Nothing comes out that was not put in, nothing twice, everything in order."""
    sequences = [entry.sequence for entry in entries]
    assert sequences == sorted(set(sequences))
    assert all(PAYLOADS[entry.sequence - 1] == entry.payload for entry in entries)


@given(data=st.data(), close=st.booleans(), flips=st.integers(1, 3))
@quick
def test_flipped_bits(read_all: ReadAll, data: st.DataObject, close: bool, flips: int) -> None:
    """A flipped bit anywhere costs at most the record it hit, in a finished log as in a growing one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = write_log(folder, close=close)
        finished = segments(folder)[:-1]
        for _ in range(flips):
            path = data.draw(st.sampled_from(finished))
            flip(path, data.draw(st.integers(0, path.stat().st_size * 8 - 1)))
        reader = LogReader(folder)

        entries = read_all(reader, 1)

        assert_only_true_records(entries)
        assert len(PAYLOADS) - flips <= len(entries) <= len(PAYLOADS)
        if len(entries) < len(PAYLOADS):
            assert sum(reader.damaged.values()) >= 1
        journal.close()


@given(data=st.data())
@quick
def test_cut_files(read_all: ReadAll, data: st.DataObject) -> None:
    """A segment cut anywhere gives the records before the cut, and the next segments are read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder, close=True)
        path = data.draw(st.sampled_from(segments(folder)))
        whole = {entry.sequence for entry in read_all(LogReader(folder), 1)}
        before = LogReader(folder)
        inside = [entry for entry in read_all(before, 1) if entry.end.number == int(path.name[3:11])]
        cut = data.draw(st.integers(0, path.stat().st_size - 1))
        os.truncate(path, cut)
        reader = LogReader(folder)

        entries = read_all(reader, 1)

        assert_only_true_records(entries)
        lost = {entry.sequence for entry in inside if entry.end.offset > cut}
        assert {entry.sequence for entry in entries} >= whole - lost
        assert reader.drained() == (not entries)
        for entry in entries[-1:]:
            reader.acknowledge(1, entry.end, len(entries))
        assert reader.drained()


@given(data=st.data())
@quick
def test_pages_that_never_reached_the_disk(read_all: ReadAll, data: st.DataObject) -> None:
    """After a power cut some pages may be zero: what lies in them is lost, what lies behind them is read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        journal = Journal(folder, meta={}, segment_bytes=64 << 10)
        for payload in PAYLOADS:
            journal.append(payload)
        journal.close()
        path = segments(folder)[0]
        page = data.draw(st.integers(1, max(1, path.stat().st_size // 4096 - 1)))
        with open(path, "r+b") as file:
            file.seek(page * 4096)
            file.write(bytes(4096))
        reader = LogReader(folder)

        entries = read_all(reader, 1)

        assert_only_true_records(entries)
        assert entries[-1].sequence == len(PAYLOADS) or page * 4096 + 4096 >= path.stat().st_size
        assert reader.damaged.get("checksum", 0) + reader.damaged.get("torn", 0) >= 1


def test_damaged_tail_of_a_living_writer_waits(tmp_path: Path, read_all: ReadAll) -> None:
    """A bad last record of a living writer may still be on its way: it is counted when a good one follows."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"first")
    journal.append(b"second" * 10)
    reader = LogReader(tmp_path)
    end = reader.read(1, 1)[0].end
    flip(segments(tmp_path)[0], (end.offset + 20) * 8)
    assert read_all(reader, 1) == []
    assert reader.damaged == {}

    journal.append(b"third")

    assert [entry.payload for entry in read_all(reader, 1)] == [b"third"]
    assert reader.damaged == {"checksum": 1}
    journal.close()


def test_torn_tail_of_a_dead_writer_is_counted(tmp_path: Path, read_all: ReadAll) -> None:
    """What a dead writer left unfinished is counted once, and nothing is pending behind it."""
    journal = Journal(tmp_path, meta={})
    journal.append(b"first")
    journal.append(b"second" * 10)
    path = segments(tmp_path)[0]
    flip(path, (LogReader(tmp_path).read(1, 1)[0].end.offset + 20) * 8)
    journal.abandon()
    reader = LogReader(tmp_path)

    entries = read_all(reader, 1, acknowledge=True)

    assert [entry.payload for entry in entries] == [b"first"]
    assert read_all(reader, 1) == []
    assert reader.damaged == {"torn": 1}
    assert reader.drained()


@given(noise=st.binary(min_size=1, max_size=9000).filter(any))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_file_of_noise(read_all: ReadAll, noise: bytes) -> None:
    """A file that is no segment is counted, and its neighbours are read."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder, close=True)
        first = segments(folder)[0]
        first.write_bytes(noise)
        reader = LogReader(folder)

        entries = read_all(reader, 1)

        assert_only_true_records(entries)
        assert entries[-1].sequence == len(PAYLOADS)
        assert reader.damaged["header"] == 1
        assert reader.meta() == {"producer": "p"}


@given(data=st.data())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_reopening_a_damaged_log(read_all: ReadAll, data: st.DataObject) -> None:
    """A writer that takes over a damaged log reads nothing away and repeats no number."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_log(folder, close=False).abandon()
        path = data.draw(st.sampled_from(segments(folder)))
        flip(path, data.draw(st.integers(0, path.stat().st_size * 8 - 1)))
        if data.draw(st.booleans()):
            (folder / "counters").unlink()
        journal = Journal(folder, meta={}, segment_bytes=4096)
        new = journal.append(b"new")
        reader = LogReader(folder)

        entries = read_all(reader, 1)

        assert entries[-1].payload == b"new"
        assert entries[-1].sequence == new > entries[-2].sequence
        assert_only_true_records(entries[:-1])
        assert len(entries) >= len(PAYLOADS)
        journal.close()


def flip(path: Path, bit: int) -> None:
    """Flip one bit of a file."""
    with open(path, "r+b") as file:
        file.seek(bit // 8)
        byte = file.read(1)[0]
        file.seek(bit // 8)
        file.write(bytes([byte ^ 1 << bit % 8]))


def test_a_damaged_end_mark_of_a_segment_that_was_not_cut(tmp_path: Path, read_all: ReadAll) -> None:
    """A full segment keeps the size it was made with; what follows is read even so, beside a living writer, once two segments follow."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    while len(segments(tmp_path)) < 4:
        journal.append(b"x" * 376)
    first, *_ = segments(tmp_path)
    data = first.read_bytes()
    assert len(data) == 4096
    mark = data.rindex(b"\xff\xff\xff\xff")
    first.write_bytes(data[:mark] + b"\x00" + data[mark + 1 :])
    reader = LogReader(tmp_path)

    assert [entry.sequence for entry in read_all(reader, 1)] == list(range(1, journal.last_sequence + 1))
    assert reader.damaged == {"torn": 1}
    journal.close()


def test_a_flipped_bit_in_an_end_mark_holds_nobody_up(tmp_path: Path, read_all: ReadAll) -> None:
    """Of a segment that was left as it was made, as it was nearly full, the next one's records tell that it is finished."""
    journal = Journal(tmp_path, meta={}, segment_bytes=4096)
    while len(segments(tmp_path)) < 2 or not reaches_second(tmp_path):
        journal.append(b"x" * 50)
    first = segments(tmp_path)[0]
    data = first.read_bytes()
    assert len(data) == 4096, "cut, so that its size tells"
    mark = data.rindex(b"\xff\xff\xff\xff")
    flip(first, mark * 8)
    reader = LogReader(tmp_path)
    assert {entry.end.number for entry in read_all(reader, 1)} == {1, 2}
    assert sum(reader.damaged.values()) == 1
    journal.close()


def reaches_second(folder: Path) -> bool:
    """Whether a record stands in the second segment."""
    return any(entry.end.number == 2 for entry in LogReader(folder).read(1, 1 << 20))
