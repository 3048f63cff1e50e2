"""The byte limit, the priorities in it, and disks that are full."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rollscope.files import disk
from rollscope.journal import Entry, Journal, LogReader
from rollscope.journal._segment import Segment
from tests.fixtures.small_disk import full_disk

ReadAll = Callable[..., list[Entry]]
LIMIT = 1 << 20


def disk_usage(folder: Path) -> int:
    """Bytes of all files."""
    return sum(path.stat().st_size for path in folder.iterdir())


def fill(journal: Journal, lane: int, size: int = 1000) -> int:
    """Append until refused; how many were taken."""
    taken = 0
    while journal.append(bytes([65 + lane]) * size, lane) > 0:
        taken += 1
    return taken


def test_tokens_stop_first_then_spans(tmp_path: Path) -> None:
    """Tokens fill 70 % of the limit, spans go on to 90 %, run records to the end; every refusal is counted and uses no number."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=16384)

    tokens = fill(journal, 2)
    assert 0.6 * LIMIT < disk_usage(tmp_path) <= 0.7 * LIMIT
    spans = fill(journal, 1)
    assert 0.8 * LIMIT < disk_usage(tmp_path) <= 0.9 * LIMIT
    assert journal.append(b"run", 0) == tokens + spans + 1
    assert journal.counters().dropped == {"refused tokens: byte limit": 1, "refused spans: byte limit": 1}
    journal.close()


def test_run_records_push_out_tokens_then_spans(tmp_path: Path, read_all: ReadAll) -> None:
    """Run records are kept at the cost of the oldest tokens, then spans; what went is counted, the limit holds."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=16384)
    tokens, spans = fill(journal, 2), fill(journal, 1)
    runs = sum(journal.append(b"r" * 1000, 0) > 0 for _ in range(850))
    reader = LogReader(tmp_path)
    left = {lane: len(read_all(reader, lane)) for lane in (0, 1, 2)}

    dropped = journal.counters().dropped
    assert runs == left[0] == 850
    assert dropped["evicted tokens"] == tokens - left[2]
    assert dropped["evicted spans"] == spans - left[1] > 0
    assert left[2] * 1000 < 32768
    assert disk_usage(tmp_path) <= LIMIT
    journal.close()


def test_only_what_was_not_sent_counts_as_evicted(tmp_path: Path, read_all: ReadAll) -> None:
    """Records that a reader had acknowledged are not counted when their segment is pushed out."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=16384)
    tokens = fill(journal, 2)
    reader = LogReader(tmp_path)
    sent = reader.read(2, 5000)
    reader.acknowledge(2, sent[-1].end, len(sent))
    for _ in range(1100):
        journal.append(b"r" * 900, 0)
    left = len(read_all(LogReader(tmp_path, {}), 2))

    assert journal.counters().dropped["evicted tokens"] == tokens - len(sent) - left
    journal.close()


def test_acknowledging_makes_room(tmp_path: Path, read_all: ReadAll, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a reader has deleted segments, a lane that was refused goes on, without being asked at every append."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=16384)
    fill(journal, 2)
    read_all(LogReader(tmp_path), acknowledge=True)

    monkeypatch.setattr(journal._lanes[2], "refused_until", float("inf"))
    assert journal.append(b"s" * 1000, 2) == -1
    monkeypatch.setattr(journal._lanes[2], "refused_until", 0.0)
    assert journal.append(b"l" * 1000, 2) > 0
    journal.close()


def test_small_limit_gets_small_segments(tmp_path: Path) -> None:
    """A limit below the usual segments still leaves room for every lane."""
    journal = Journal(tmp_path, meta={}, limit=256 << 10)

    assert [journal.append(b"x" * 1000, lane) for lane in (0, 1, 2)] == [1, 2, 3]
    assert disk_usage(tmp_path) < 256 << 10
    journal.close()


def test_a_small_segment_where_the_usual_one_has_no_room(tmp_path: Path, read_all: ReadAll) -> None:
    """Near the limit records go on in small segments, before run records push anything out; with room again in usual ones."""
    limit = 16 << 20
    journal = Journal(tmp_path, meta={}, limit=limit)
    fill(journal, 1, 10_000)
    assert 0.9 * limit - (256 << 10) < disk_usage(tmp_path) <= 0.9 * limit
    while disk_usage(tmp_path) <= limit - (256 << 10):
        assert journal.append(b"r" * 10_000, 0) > 0

    assert journal.counters().dropped == {"refused spans: byte limit": 1}
    assert disk_usage(tmp_path) <= limit
    read_all(LogReader(tmp_path), acknowledge=True)
    number = max(tmp_path.glob("p0-*.seg")).name
    while max(tmp_path.glob("p0-*.seg")).name == number:
        assert journal.append(b"r" * 10_000, 0) > 0
    assert max(tmp_path.glob("p0-*.seg")).stat().st_size == 512 << 10
    journal.close()


@pytest.mark.reliability
def test_full_disk(small_disk: Path, read_all: ReadAll, monkeypatch: pytest.MonkeyPatch) -> None:
    """A disk that fills up costs records, counted by name, never an error or a signal; with room again it goes on."""
    ballast = small_disk / "ballast"
    journal = Journal(small_disk / "log", meta={}, segment_bytes=65536)
    assert journal.append(b"first") == 1
    with open(ballast, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass
    taken = fill(journal, 1) + 1
    assert fill(journal, 0) == 0

    assert "refused spans: disk full" in journal.counters().dropped
    assert "refused run records: disk full" in journal.counters().dropped
    ballast.unlink()
    monkeypatch.setattr(journal._lanes[0], "refused_until", 0.0)
    assert journal.append(b"again", 0) == journal.last_sequence > taken
    assert len(read_all(LogReader(small_disk / "log"))) == journal.last_sequence
    journal.close()


@pytest.mark.reliability
def test_run_records_push_out_others_on_a_full_disk(small_disk: Path, read_all: ReadAll) -> None:
    """Where the disk is smaller than the byte limit, run records are kept at the cost of spans all the same."""
    journal = Journal(small_disk, meta={}, segment_bytes=65536)
    spans = fill(journal, 1)
    runs = sum(journal.append(b"r" * 1000, 0) > 0 for _ in range(500))
    left = len(read_all(LogReader(small_disk), 1))

    assert runs == 500
    assert journal.counters().dropped == {"refused spans: disk full": 1, "evicted spans": spans - left}
    journal.close()


def test_a_full_disk_of_which_others_take_what_is_freed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run record costs no more than it would need, and is refused."""
    journal = Journal(tmp_path, meta={}, segment_bytes=65536)
    for _ in range(1000):
        journal.append(b"s" * 1000, 1)
    before = len([*tmp_path.glob("p1-*.seg")])
    monkeypatch.setattr(os, "posix_fallocate", full_disk)

    assert journal.append(b"run", 0) == -1
    assert len([*tmp_path.glob("p1-*.seg")]) == before - 1
    journal.close()


class Interrupted(Exception):  # as its makers would call it
    """What a program's signal handler raises."""


def test_an_exception_while_a_file_is_made_costs_no_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a signal handler raises while a segment, a place or a record aside is made leaves the limit as it was."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=65536)

    def interrupted(*_: object) -> None:
        raise Interrupted

    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", interrupted)
        for _ in range(40):
            with pytest.raises(Interrupted):
                journal.append(b"x" * 1000, 0)
            with pytest.raises(Interrupted):
                journal.hold(b"x", 1)
    assert fill(journal, 0) > 0.8 * LIMIT / 1000
    journal.close()


def test_a_segment_that_another_lane_is_just_making_is_not_pushed_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is in use, or about to be, holds records to come: they would be gone with it, and nobody would count them."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=300 << 10)
    create = Segment.create
    pushed: list[int] = []

    def slowly(folder: Path, lane: int, *more: Any) -> Segment:
        made = create(folder, lane, *more)
        if lane == 1:
            pushed.extend(journal.append(b"r" * 200_000, 0) for _ in range(3))
        return made

    monkeypatch.setattr(Segment, "create", slowly)
    assert journal.append(b"x" * 200_000, 1) > 0
    assert -1 in pushed
    assert [path.name for path in tmp_path.glob("p1-*.seg")] == ["p1-00000001.seg"]
    journal.close()


def test_a_record_for_which_there_is_never_room_costs_no_other(tmp_path: Path) -> None:
    """It is larger than the limit: nothing is pushed out for it."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=65536)
    fill(journal, 1)
    before = journal.counters().dropped

    assert journal.append(bytes(3 * LIMIT), 0) == -1
    assert journal.counters().dropped == {**before, "refused run records: byte limit": 1}
    journal.close()


@pytest.mark.reliability
def test_a_disk_without_room_for_usual_segments(small_disk: Path) -> None:
    """Records of every lane get in, in small ones."""
    journal = Journal(small_disk / "log", meta={})

    assert [journal.append(b"x" * 1000, lane) for lane in (2, 1, 0)] == [1, 2, 3]
    assert journal.counters().dropped == {}
    journal.close()


@pytest.mark.reliability
def test_what_is_kept_free(small_disk: Path) -> None:
    """No segment is made of what is left to others."""
    journal = Journal(small_disk / "log", meta={}, segment_bytes=65536, keep_free=512 << 10)
    fill(journal, 0)

    assert journal.counters().dropped == {"refused run records: disk full": 1}
    assert 512 << 10 <= disk(small_disk).free < (512 + 64) << 10
    journal.close()


@pytest.mark.reliability
@pytest.mark.parametrize(
    ("most", "printed"), [(1 << 20, "1 2 {}"), (64 << 10, "-1 -1 {'refused run records: EFBIG': 1, 'refused spans: EFBIG': 1}")]
)
def test_file_size_limit(most: int, printed: str, tmp_path: Path) -> None:
    """A quota that forbids growing files (`ulimit -f`) is counted where a small segment is too large too, not raised, and kills nobody."""
    program = (
        "import resource, sys\nfrom pathlib import Path\nfrom rollscope.journal import Journal\n"
        "journal = Journal(Path(sys.argv[1]), meta={})\n"
        f"resource.setrlimit(resource.RLIMIT_FSIZE, ({most}, {most}))\n"
        "print(journal.append(b'x', 0), journal.append(b'x', 1), journal.counters().dropped)\n"
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, check=True)

    assert done.stdout == f"{printed}\n"


@pytest.mark.parametrize("lane", [0, 1, 2])
@pytest.mark.parametrize("why", ["no descriptor is left", "the folder is gone"])
def test_at_the_limit_where_the_folder_cannot_be_listed(lane: int, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A log that cannot look whether readers made room refuses and counts; nothing is raised."""
    folder = tmp_path / "log"
    journal = Journal(folder, meta={}, limit=LIMIT, segment_bytes=16384)
    for each in (2, 1, 0):
        fill(journal, each)
    before = sum(journal.counters().dropped.values())
    for state in journal._lanes:
        monkeypatch.setattr(state, "refused_until", 0.0)
    if why == "the folder is gone":
        shutil.rmtree(folder)
    else:
        monkeypatch.setattr(os, "scandir", _no_descriptor)

    assert [journal.append(b"x" * 20_000, lane), journal.hold(b"x" * 20_000, 1)] == [-1, None]
    assert sum(journal.counters().dropped.values()) == before + 1
    journal.close()


def _no_descriptor(folder: object) -> None:
    raise OSError(errno.EMFILE, "no descriptor", folder)


def test_what_is_being_made_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lane that looks at the folder while another one's file is being made knows of it."""
    journal = Journal(tmp_path, meta={}, limit=LIMIT, segment_bytes=400 << 10)
    create, others = Segment.create, []

    def slowly(folder: Path, lane: int, *more: Any) -> Segment:
        if lane == 1:
            others.extend(journal.append(b"x" * 300_000, 0) for _ in range(2))
        return create(folder, lane, *more)

    monkeypatch.setattr(Segment, "create", slowly)
    assert journal.append(b"x" * 300_000, 1) > 0
    assert [number > 0 for number in others] == [True, False]
    assert disk_usage(tmp_path) <= LIMIT
    journal.close()


def test_folder_deleted_under_the_writer(tmp_path: Path) -> None:
    """A log whose folder somebody removed refuses by name what no longer fits into its open segments."""
    journal = Journal(tmp_path / "log", meta={}, segment_bytes=4096)
    journal.append(b"one")
    for path in (tmp_path / "log").iterdir():
        path.unlink()
    (tmp_path / "log").rmdir()

    assert fill(journal, 1) > 0
    assert journal.append(b"run", 0) == -1
    assert journal.counters().dropped["refused run records: ENOENT"] == 1
    journal.close()


def test_no_file_descriptors_left(tmp_path: Path, read_all: ReadAll, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process without descriptors refuses, and takes records again when it has some."""
    journal = Journal(tmp_path, meta={})

    def refuse(*_: object) -> int:
        raise OSError(24, "Too many open files")

    with monkeypatch.context() as patch:
        patch.setattr("rollscope.journal._segment.os.open", refuse)
        assert journal.append(b"one") == -1
    monkeypatch.setattr(journal._lanes[1], "refused_until", 0.0)

    assert journal.append(b"two") == 1
    assert journal.counters().dropped == {"refused spans: EMFILE": 1}
    journal.close()
